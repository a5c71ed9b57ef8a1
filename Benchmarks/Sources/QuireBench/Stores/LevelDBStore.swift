// LevelDB as a peer, through its C interface.

#if PEER_LEVELDB
  internal import CLevelDB

  /// LevelDB with what its documentation advises: a block cache, a bloom filter of 10 bits per key, and a write buffer
  /// above the default for many writes. No compression, because the values are random.
  ///
  /// Sharing it between threads is safe because LevelDB takes any number of them.
  final class LevelDBStore: StoreUnderTest, @unchecked Sendable {
    static let name = "leveldb"
    private static let writeBufferByteCount = 64 << 20

    private let database: OpaquePointer
    private let options: OpaquePointer
    private let writeOptions: OpaquePointer
    private let cache: OpaquePointer
    private let filter: OpaquePointer

    init(directory: String, options: StoreOptions) throws {
      self.options = try made(leveldb_options_create())
      cache = try made(leveldb_cache_create_lru(options.cacheSize))
      filter = try made(leveldb_filterpolicy_create_bloom(10))
      leveldb_options_set_create_if_missing(self.options, 1)
      leveldb_options_set_cache(self.options, cache)
      leveldb_options_set_filter_policy(self.options, filter)
      leveldb_options_set_write_buffer_size(self.options, Self.writeBufferByteCount)
      leveldb_options_set_compression(self.options, CInt(leveldb_no_compression))
      writeOptions = try made(leveldb_writeoptions_create())
      leveldb_writeoptions_set_sync(writeOptions, options.durability == .full ? 1 : 0)
      var error: UnsafeMutablePointer<CChar>?
      let opened = leveldb_open(self.options, "\(directory)/leveldb", &error)
      try check(&error)
      database = try made(opened)
    }

    var version: String { "\(leveldb_major_version()).\(leveldb_minor_version())" }

    func put(_ rows: RowBlock, _ range: Range<Int>, perTransaction: Int) throws {
      let batch = try made(leveldb_writebatch_create())
      defer { leveldb_writebatch_destroy(batch) }
      for start in stride(from: range.lowerBound, to: range.upperBound, by: perTransaction) {
        leveldb_writebatch_clear(batch)
        append(rows, start..<min(start + perTransaction, range.upperBound), to: batch)
        try write(batch)
      }
    }

    private func append(_ rows: RowBlock, _ range: Range<Int>, to batch: OpaquePointer) {
      for index in range {
        let key = Characters(rows.key(index))
        let value = Characters(rows.value(index))
        leveldb_writebatch_put(batch, key.start, key.count, value.start, value.count)
      }
    }

    func putInOneTransaction(_ next: () throws -> RowBlock?) throws {
      let batch = try made(leveldb_writebatch_create())
      defer { leveldb_writebatch_destroy(batch) }
      while let rows = try next() { append(rows, 0..<rows.count, to: batch) }
      try write(batch)
    }

    func remove(_ rows: RowBlock, _ range: Range<Int>) throws {
      let batch = try made(leveldb_writebatch_create())
      defer { leveldb_writebatch_destroy(batch) }
      for index in range {
        let key = Characters(rows.key(index))
        leveldb_writebatch_delete(batch, key.start, key.count)
      }
      try write(batch)
    }

    private func write(_ batch: OpaquePointer) throws {
      var error: UnsafeMutablePointer<CChar>?
      leveldb_write(database, writeOptions, batch, &error)
      try check(&error)
    }

    func sumOfValues(of keys: KeyList, _ range: Range<Int>) throws -> UInt64 {
      try reading { readOptions in
        var total: UInt64 = 0
        for index in range {
          let key = Characters(keys[index])
          var count = 0
          var error: UnsafeMutablePointer<CChar>?
          // The C interface has no way to read without a copy.
          let value = leveldb_get(database, readOptions, key.start, key.count, &count, &error)
          if value == nil { try check(&error) }
          guard let value else { throw StoreFailure(description: "LevelDB: a key is missing") }
          total &+= sum(of: UnsafeRawBufferPointer(start: value, count: count))
          leveldb_free(value)
        }
        return total
      }
    }

    func sumOfRanges(from keys: KeyList, _ range: Range<Int>, length: Int) throws -> UInt64 {
      try withIterator { iterator in
        var total: UInt64 = 0
        for index in range {
          let key = Characters(keys[index])
          leveldb_iter_seek(iterator, key.start, key.count)
          var remaining = length
          while leveldb_iter_valid(iterator) != 0 {
            total &+= sum(of: value(of: iterator))
            remaining -= 1
            if remaining == 0 { break }
            leveldb_iter_next(iterator)
          }
        }
        return total
      }
    }

    func scan(after body: () throws -> Void) throws -> Contents {
      try withIterator { iterator in
        try body()
        var contents = Contents()
        leveldb_iter_seek_to_first(iterator)
        while leveldb_iter_valid(iterator) != 0 {
          contents.add(value(of: iterator))
          leveldb_iter_next(iterator)
        }
        return contents
      }
    }

    /// LevelDB does not know how many rows it has but by counting them.
    func count() throws -> Int {
      try withIterator { iterator in
        var count = 0
        leveldb_iter_seek_to_first(iterator)
        while leveldb_iter_valid(iterator) != 0 {
          count += 1
          leveldb_iter_next(iterator)
        }
        return count
      }
    }

    func compact() { leveldb_compact_range(database, nil, 0, nil, 0) }

    func close() {
      leveldb_close(database)
      leveldb_options_destroy(options)
      leveldb_writeoptions_destroy(writeOptions)
      leveldb_cache_destroy(cache)
      leveldb_filterpolicy_destroy(filter)
    }

    private func reading<Result>(_ body: (OpaquePointer) throws -> Result) throws -> Result {
      let snapshot = leveldb_create_snapshot(database)
      defer { leveldb_release_snapshot(database, snapshot) }
      let readOptions = try made(leveldb_readoptions_create())
      defer { leveldb_readoptions_destroy(readOptions) }
      leveldb_readoptions_set_snapshot(readOptions, snapshot)
      return try body(readOptions)
    }

    private func withIterator<Result>(_ body: (OpaquePointer) throws -> Result) throws -> Result {
      try reading { readOptions in
        let iterator = try made(leveldb_create_iterator(database, readOptions))
        defer { leveldb_iter_destroy(iterator) }
        let result = try body(iterator)
        var error: UnsafeMutablePointer<CChar>?
        leveldb_iter_get_error(iterator, &error)
        try check(&error)
        return result
      }
    }

    @inline(__always) private func value(of iterator: OpaquePointer) -> UnsafeRawBufferPointer {
      var count = 0
      let start = leveldb_iter_value(iterator, &count)
      return UnsafeRawBufferPointer(start: start, count: count)
    }
  }

  private func made(_ pointer: OpaquePointer?) throws -> OpaquePointer {
    guard let pointer else { throw StoreFailure(description: "LevelDB: out of memory") }
    return pointer
  }

  private func check(_ error: inout UnsafeMutablePointer<CChar>?) throws {
    guard let text = error else { return }
    defer { leveldb_free(text) }
    throw StoreFailure(description: "LevelDB: \(String(cString: text))")
  }
#endif
