// The stores there are, those that were built in, and how to get the others.

/// A store to measure beside Quire.
struct Peer {
  let name: String
  /// Nil where it was not installed when the suite was built.
  let store: (any StoreUnderTest.Type)?
  /// The package of the system that brings it.
  let debian: String
  let brew: String

  /// What to do about a peer that is missing.
  var advice: String {
    "\(name) is left out: it was not installed when this was built. “apt-get install \(debian)” or “brew install "
      + "\(brew)”, then build with “--manifest-cache none”."
  }

  /// In the order of the tables.
  static let all = [
    Peer(name: "lmdb", store: lmdb, debian: "liblmdb-dev", brew: "lmdb"),
    Peer(name: "sqlite", store: sqlite, debian: "libsqlite3-dev", brew: "sqlite"),
    Peer(name: "rocksdb", store: rocksdb, debian: "librocksdb-dev", brew: "rocksdb"),
    Peer(name: "leveldb", store: leveldb, debian: "libleveldb-dev", brew: "leveldb"),
    Peer(name: "grdb", store: grdb, debian: "libsqlite3-dev", brew: "sqlite"),
  ]

  /// Ours first.
  static var installedStores: [any StoreUnderTest.Type] { [QuireStore.self] + all.compactMap(\.store) }
}

#if PEER_LMDB
  private let lmdb: (any StoreUnderTest.Type)? = LMDBStore.self
#else
  private let lmdb: (any StoreUnderTest.Type)? = nil
#endif

#if PEER_SQLITE
  private let sqlite: (any StoreUnderTest.Type)? = SQLiteStore.self
#else
  private let sqlite: (any StoreUnderTest.Type)? = nil
#endif

#if PEER_ROCKSDB
  private let rocksdb: (any StoreUnderTest.Type)? = RocksDBStore.self
#else
  private let rocksdb: (any StoreUnderTest.Type)? = nil
#endif

#if PEER_LEVELDB
  private let leveldb: (any StoreUnderTest.Type)? = LevelDBStore.self
#else
  private let leveldb: (any StoreUnderTest.Type)? = nil
#endif

#if PEER_GRDB
  private let grdb: (any StoreUnderTest.Type)? = GRDBStore.self
#else
  private let grdb: (any StoreUnderTest.Type)? = nil
#endif
