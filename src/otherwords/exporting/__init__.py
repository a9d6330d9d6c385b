"""From a trained model to one small ONNX file that answers alike: the graph, its weights, and the proof of it."""
