"""``domi``: the task messages of the TASK_INFO partition of OM files.

Fields and numbers: Ascend/metadef ``proto/task.proto`` (Apache-2.0); newer fields from the table in ``docs/om.md``.
Task kinds that gedialect neither writes nor runs (FFTS, DVPP, DSA, HCCL, ...) are left out: protobuf keeps them as
unknown bytes.
"""

from __future__ import annotations

from gedialect.binary.protos.schema import Map, Message, Repeated, bind, int64, no, string, uint32, uint64


class KernelContext(Message):
    kernel_type: uint32 = no(1)
    op_id: uint32 = no(2)
    kernel_func_id: uint32 = no(3)
    op_index: uint32 = no(4)
    is_flowtable: bool = no(5)
    args_offset: bytes = no(6)
    args_count: uint32 = no(7)
    origin_op_index: Repeated[uint32] = no(8)
    args_format: string = no(10)


class KernelDef(Message):
    context: KernelContext = no(1)
    is_block_task_prefetch: bool = no(2)
    stub_func: string = no(10)
    block_dim: uint32 = no(11)
    args_size: uint32 = no(12)
    args: bytes = no(13)
    sm_desc: bytes = no(14)
    flowtable: bytes = no(15)
    so_name: string = no(16)
    kernel_name: string = no(17)
    kernel_ext_info: bytes = no(18)
    kernel_ext_info_size: uint32 = no(19)
    schedule_mode: uint32 = no(21)
    block_dim_offset: uint32 = no(22)


class KernelExDef(Message):
    flags: uint32 = no(1)
    op_index: uint32 = no(4)
    args_size: uint32 = no(12)
    args: bytes = no(13)
    task_info: bytes = no(14)
    task_info_size: uint32 = no(15)
    kernel_ext_info: bytes = no(16)
    kernel_ext_info_size: uint32 = no(17)


class EventExDef(Message):
    op_index: uint32 = no(1)
    event_type: uint32 = no(2)


class LogTimeStampDef(Message):
    logid: uint64 = no(1)
    notify: bool = no(2)
    flat: uint32 = no(3)


class MemcpyAsyncDef(Message):
    dst: uint64 = no(1)
    dst_max: uint64 = no(2)
    src: uint64 = no(3)
    count: uint64 = no(4)
    kind: uint32 = no(5)
    op_index: uint32 = no(6)
    args_format: string = no(7)


class StreamSwitchDef(Message):
    op_index: uint32 = no(1)
    true_stream_id: uint32 = no(2)
    value: int64 = no(3)
    value_ptr: uint64 = no(4)
    data_type: uint32 = no(5)


class StreamActiveDef(Message):
    op_index: uint32 = no(1)
    active_stream_id: uint32 = no(2)


class LabelSetDef(Message):
    op_index: uint32 = no(1)
    label_id: uint32 = no(2)
    model_id: uint32 = no(3)


class LabelGotoExDef(Message):
    op_index: uint32 = no(1)
    label_id: uint32 = no(2)
    model_id: uint32 = no(3)


class LabelSwitchByIndexDef(Message):
    op_index: uint32 = no(1)
    label_max: uint32 = no(2)


class TaskDef(Message):
    id: uint32 = no(1)
    type: uint32 = no(2)
    stream_id: uint32 = no(10)
    event_id: uint32 = no(11)
    notify_id: uint32 = no(12)
    sqe_num: uint32 = no(13)
    kernel: KernelDef = no(20)
    kernel_ex: KernelExDef = no(21)
    event_ex: EventExDef = no(26)
    log_timestamp: LogTimeStampDef = no(28)
    label_id: uint32 = no(30)
    memcpy_async: MemcpyAsyncDef = no(31)
    stream_switch: StreamSwitchDef = no(32)
    stream_active: StreamActiveDef = no(33)
    private_def: bytes = no(34)
    ops_kernel_store_ptr: uint64 = no(35)
    label_set: LabelSetDef = no(37)
    label_goto_ex: LabelGotoExDef = no(38)
    label_switch_by_index: LabelSwitchByIndexDef = no(39)


class ModelTaskDef(Message):
    version: string = no(1)
    attr: Map[string] = no(9)
    task: Repeated[TaskDef] = no(10)
    memory_size: uint64 = no(11)
    stream_num: uint32 = no(12)
    event_num: uint32 = no(13)
    weight_size: uint64 = no(14)
    op: Repeated[bytes] = no(15)
    base_addr: uint64 = no(16)
    weight_addr: uint64 = no(17)
    batch_num: uint32 = no(18)


bind(globals(), "domi")
