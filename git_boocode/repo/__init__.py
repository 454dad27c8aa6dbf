"""The only place that runs git or touches pygit2: discovery, config, refs, objects, index, lock."""
