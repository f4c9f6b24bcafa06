// Open OM files with Netron's own reader, without a browser, and print what it sees as JSON.
//   node tools/netron_om_check.mjs NETRON_DIR FILE.om...
// NETRON_DIR: the folder of the netron package (python -c "import netron; print(netron.__path__[0])"), MIT licence.
// One line a file: {file, format, graphs: [[{name, type, inputs: [{name, type, constant: hex or null}], attributes}]]}.
// Exit status 1 if a file does not open, or opens with no node.
import * as fs from 'fs';
import * as path from 'path';
import * as url from 'url';

const [dir, ...files] = process.argv.slice(2);
const load = (name) => import(url.pathToFileURL(path.resolve(dir, name)));
const om = await load('om.js');
const base = await load('base.js');

const context = (file) => ({
    identifier: path.basename(file),
    stream: new base.BinaryStream(new Uint8Array(fs.readFileSync(file))),
    set(type, value) {
        this.type = type;
        this.value = value;
        return type;
    },
    require: (name) => load(`${path.basename(name)}.js`),
    metadata: () => {
        const types = JSON.parse(fs.readFileSync(path.join(dir, 'om-metadata.json'), 'utf8'));
        const map = new Map(types.map((type) => [type.name, type]));
        return { type: (name) => map.get(name) };
    }
});

const hex = (tensor) => (tensor && tensor.values ? Buffer.from(tensor.values).toString('hex') : null);
const text = (type) => (type && type.shape ? type.toString() : null);
const value = (item) => ({ name: item.name, type: text(item.type), constant: hex(item.initializer) });
const node = (item) => ({
    name: item.name,
    type: item.type.name,
    inputs: item.inputs.flatMap((argument) => argument.value.map(value)),
    attributes: item.attributes.map((argument) => argument.name)
});

let failed = 0;
for (const file of files) {
    try {
        const ctx = context(file);
        const factory = new om.ModelFactory();
        if (!await factory.match(ctx)) {
            throw new Error('not recognised as OM');
        }
        const model = await factory.open(ctx);
        const graphs = model.modules.map((graph) => graph.nodes.map(node));
        if (graphs.flat().length === 0) {
            throw new Error(`opened with ${graphs.length} graph(s) and no node`);
        }
        console.log(JSON.stringify({ file, format: model.format, graphs }));
    } catch (error) {
        failed++;
        console.error(`${file}: FAILED: ${error.message}`);
    }
}
process.exitCode = failed ? 1 : 0; // process.exit would cut what a pipe has not taken yet
