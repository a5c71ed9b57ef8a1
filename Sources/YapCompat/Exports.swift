// What `import YapCompat` brings along: queues, as the original's calls take them. The new API is `import Quire`.

@_exported public import Dispatch
