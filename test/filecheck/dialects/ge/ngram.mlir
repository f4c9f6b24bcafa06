// RUN: %ge-roundtrip %s | %filecheck

// CHECK-LABEL: func.func @counts
func.func @counts(%x: tensor<2x6xi64>) -> tensor<2x3xf32> {
  // CHECK-NEXT: %y = ge.tf_idf(%x) {mode = "TFIDF", min_gram_length = 1, max_gram_length = 2, max_skip_count = 1, ngram_counts = [0, 2], ngram_indexes = [0, 1, 2], pool = [3, 4, 3, 4], weights = [1.000000e+00, 5.000000e-01, 2.000000e+00]} : (tensor<2x6xi64>) -> tensor<2x3xf32>
  %y = ge.tf_idf(%x) {mode = "TFIDF", min_gram_length = 1, max_gram_length = 2, max_skip_count = 1, ngram_counts = [0, 2], ngram_indexes = [0, 1, 2], pool = [3, 4, 3, 4], weights = [1.000000e+00, 5.000000e-01, 2.000000e+00]} : (tensor<2x6xi64>) -> tensor<2x3xf32>
  func.return %y : tensor<2x3xf32>
}
