"""A file that has changed since a model read it, and the model's edit."""

BEFORE = """\
def load(path):
    data = read(path)
    check(data)
    log("loaded")
    return parse(data)

def save(path, data):
    write(path, data)
"""
NOW = BEFORE.replace("read(path)", "read_bytes(path)")
OLD = '    data = read(path)\n    check(data)\n    log("loaded")\n'
NEW = '    data = read(path)\n    check(data)\n    log("loaded", path)\n'
