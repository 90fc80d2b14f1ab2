"""Makes a model of thousands of operators out of a bundled one: behind an activation stand as many others as asked for,
in modules of ten."""
import copy
import json
import zipfile


def write_large_model(source, target, node_name, count):
    """`node_name` is a relu of the archive `source`."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as new:
        for entry in old.infolist():
            data = old.read(entry)
            if entry.filename.endswith("models/model.json"):
                data = json.dumps(with_more(json.loads(data), node_name, count)).encode()
            new.writestr(entry.filename, data)


def with_more(model, node_name, count):
    graph = model["graph_module"]["graph"]
    place = next(i for i, one in enumerate(graph["nodes"]) if one["name"] == node_name)
    first = graph["nodes"][place]
    assert first["target"] == "torch.ops.aten.relu.default", first["target"]
    result = first["outputs"][0]["as_tensor"]["name"]
    text = json.dumps(graph["nodes"][place + 1:])
    last = f"more_{count - 1}"
    graph["nodes"][place + 1:] = json.loads(text.replace(json.dumps({"name": result}), json.dumps({"name": last})))
    more = []
    for i in range(count):
        node = copy.deepcopy(first)
        name = f"more_{i}"
        node["name"] = name
        # Two of each kind alternate, so that none is the same as the one before.
        node["target"] = "torch.ops.aten." + ("sigmoid", "tanh")[i % 2] + ".default"
        node["inputs"][0]["arg"] = {"as_tensor": {"name": result if i == 0 else f"more_{i - 1}"}}
        node["outputs"] = [{"as_tensor": {"name": name}}]
        block = f"blocks.{i // 100}.cell.{i // 10 % 10}"
        node["metadata"]["nn_module_stack"] = f"L__self__,,Model;L__self___{block.replace('.', '_')},{block},Cell"
        node["metadata"].pop("torch_fn", None)
        graph["tensor_values"][name] = copy.deepcopy(graph["tensor_values"][result])
        more.append(node)
    graph["nodes"][place + 1:place + 1] = more
    return model
