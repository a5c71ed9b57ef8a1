// What of the engine apps see: the types that the object layer's own signatures name, and no more. The engine's
// transactions, snapshots and limits share their names with ours; who wants both writes `import QuireStorage`, and the
// module in front of the name.

@_exported public import enum QuireStorage.Durability
@_exported public import enum QuireStorage.FileProtection
@_exported public import struct QuireStorage.CSN
@_exported public import struct QuireStorage.StorageBackup
@_exported public import struct QuireStorage.StorageProgress
@_exported public import struct QuireStorage.StorageStatistics
