// RocksDB as a peer, through its C interface.

#if PEER_ROCKSDB
  internal import CRocksDB
  internal import Foundation

  /// RocksDB as `RocksDBHandles` configures it.
  ///
  /// Sharing it between threads is safe because RocksDB takes any number of them.
  final class RocksDBStore: StoreUnderTest, @unchecked Sendable {
    static let name = "rocksdb"
    private static let keysPerLookup = 128

    private let directory: String
    private let handles: RocksDBHandles
    private var database: OpaquePointer { handles.database }

    init(directory: String, options: StoreOptions) throws {
      self.directory = directory
      handles = try RocksDBHandles(directory: "\(directory)/rocksdb", options: options)
    }

    /// RocksDB writes its version into the file of options that it keeps beside the data.
    var version: String {
      let files = (try? FileManager.default.contentsOfDirectory(atPath: "\(directory)/rocksdb")) ?? []
      guard let file = files.first(where: { $0.hasPrefix("OPTIONS-") }) else { return "unknown" }
      for line in lines(of: "\(directory)/rocksdb/\(file)") where line.contains("rocksdb_version=") {
        return line.split(separator: "=").last.map(String.init) ?? "unknown"
      }
      return "unknown"
    }

    func put(_ rows: RowBlock, _ range: Range<Int>, perTransaction: Int) throws {
      let batch = try made(rocksdb_writebatch_create())
      defer { rocksdb_writebatch_destroy(batch) }
      for start in stride(from: range.lowerBound, to: range.upperBound, by: perTransaction) {
        rocksdb_writebatch_clear(batch)
        append(rows, start..<min(start + perTransaction, range.upperBound), to: batch)
        try write(batch)
      }
    }

    private func append(_ rows: RowBlock, _ range: Range<Int>, to batch: OpaquePointer) {
      for index in range {
        let key = Characters(rows.key(index))
        let value = Characters(rows.value(index))
        rocksdb_writebatch_put(batch, key.start, key.count, value.start, value.count)
      }
    }

    func putInOneTransaction(_ next: () throws -> RowBlock?) throws {
      let batch = try made(rocksdb_writebatch_create())
      defer { rocksdb_writebatch_destroy(batch) }
      while let rows = try next() { append(rows, 0..<rows.count, to: batch) }
      try write(batch)
    }

    /// Sorts the rows, the time for which counts, writes a table file of them and takes it in: what RocksDB's wiki
    /// advises for bulk loads.
    func load(_ rows: RowBlock) throws {
      let path = "\(directory)/bulk.sst"
      let environment = try made(rocksdb_envoptions_create())
      defer { rocksdb_envoptions_destroy(environment) }
      let writer = try made(rocksdb_sstfilewriter_create(environment, handles.options))
      defer { rocksdb_sstfilewriter_destroy(writer) }
      try checking { rocksdb_sstfilewriter_open(writer, path, &$0) }
      for index in rows.sortedIndices() {
        let key = Characters(rows.key(index))
        let value = Characters(rows.value(index))
        try checking { rocksdb_sstfilewriter_put(writer, key.start, key.count, value.start, value.count, &$0) }
      }
      try checking { rocksdb_sstfilewriter_finish(writer, &$0) }
      let options = try made(rocksdb_ingestexternalfileoptions_create())
      defer { rocksdb_ingestexternalfileoptions_destroy(options) }
      rocksdb_ingestexternalfileoptions_set_move_files(options, 1)
      try path.withCString { start in
        var list: UnsafePointer<CChar>? = start
        try checking { rocksdb_ingest_external_file(database, &list, 1, options, &$0) }
      }
    }

    func remove(_ rows: RowBlock, _ range: Range<Int>) throws {
      let batch = try made(rocksdb_writebatch_create())
      defer { rocksdb_writebatch_destroy(batch) }
      for index in range {
        let key = Characters(rows.key(index))
        rocksdb_writebatch_delete(batch, key.start, key.count)
      }
      try write(batch)
    }

    private func write(_ batch: OpaquePointer) throws {
      try checking { rocksdb_write(database, handles.writeOptions, batch, &$0) }
    }

    func sumOfValues(of keys: KeyList, _ range: Range<Int>) throws -> UInt64 {
      try reading { readOptions in
        var total: UInt64 = 0
        for index in range {
          let key = Characters(keys[index])
          var error: UnsafeMutablePointer<CChar>?
          let value = rocksdb_get_pinned(database, readOptions, key.start, key.count, &error)
          if value == nil { try check(error) }
          guard let value else { throw StoreFailure(description: "RocksDB: a key is missing") }
          total &+= sum(of: bytes(of: value))
          rocksdb_pinnableslice_destroy(value)
        }
        return total
      }
    }

    /// By `MultiGet`, so many keys to a call.
    func sumOfManyValues(of keys: KeyList, _ range: Range<Int>) throws -> UInt64 {
      try reading { readOptions in
        let limit = Self.keysPerLookup
        var starts = [UnsafePointer<CChar>?](repeating: nil, count: limit)
        var counts = [Int](repeating: 0, count: limit)
        var values = [OpaquePointer?](repeating: nil, count: limit)
        var errors = [UnsafeMutablePointer<CChar>?](repeating: nil, count: limit)
        var total: UInt64 = 0
        for start in stride(from: range.lowerBound, to: range.upperBound, by: limit) {
          let count = min(limit, range.upperBound - start)
          for place in 0..<count {
            let key = Characters(keys[start + place])
            (starts[place], counts[place]) = (key.start, key.count)
          }
          rocksdb_batched_multi_get_cf(
            database, readOptions, handles.family, count, &starts, &counts, &values, &errors, false)
          for place in 0..<count {
            try check(errors[place])
            guard let value = values[place] else { throw StoreFailure(description: "RocksDB: a key is missing") }
            total &+= sum(of: bytes(of: value))
            rocksdb_pinnableslice_destroy(value)
          }
        }
        return total
      }
    }

    func sumOfRanges(from keys: KeyList, _ range: Range<Int>, length: Int) throws -> UInt64 {
      try withIterator { iterator in
        var total: UInt64 = 0
        for index in range {
          let key = Characters(keys[index])
          rocksdb_iter_seek(iterator, key.start, key.count)
          var remaining = length
          while rocksdb_iter_valid(iterator) != 0 {
            total &+= sum(of: value(at: iterator))
            remaining -= 1
            if remaining == 0 { break }
            rocksdb_iter_next(iterator)
          }
        }
        return total
      }
    }

    func scan(after body: () throws -> Void) throws -> Contents {
      try withIterator { iterator in
        try body()
        var contents = Contents()
        rocksdb_iter_seek_to_first(iterator)
        while rocksdb_iter_valid(iterator) != 0 {
          contents.add(value(at: iterator))
          rocksdb_iter_next(iterator)
        }
        return contents
      }
    }

    /// RocksDB only estimates how many rows it has: to know, one counts them.
    func count() throws -> Int {
      try withIterator { iterator in
        var count = 0
        rocksdb_iter_seek_to_first(iterator)
        while rocksdb_iter_valid(iterator) != 0 {
          count += 1
          rocksdb_iter_next(iterator)
        }
        return count
      }
    }

    func compact() { rocksdb_compact_range(database, nil, 0, nil, 0) }

    func close() { handles.close() }

    private func reading<Result>(_ body: (OpaquePointer) throws -> Result) throws -> Result {
      let snapshot = rocksdb_create_snapshot(database)
      defer { rocksdb_release_snapshot(database, snapshot) }
      let readOptions = try made(rocksdb_readoptions_create())
      defer { rocksdb_readoptions_destroy(readOptions) }
      rocksdb_readoptions_set_snapshot(readOptions, snapshot)
      return try body(readOptions)
    }

    private func withIterator<Result>(_ body: (OpaquePointer) throws -> Result) throws -> Result {
      try reading { readOptions in
        let iterator = try made(rocksdb_create_iterator(database, readOptions))
        defer { rocksdb_iter_destroy(iterator) }
        let result = try body(iterator)
        try checking { rocksdb_iter_get_error(iterator, &$0) }
        return result
      }
    }

    @inline(__always) private func value(at iterator: OpaquePointer) -> UnsafeRawBufferPointer {
      var count = 0
      let start = rocksdb_iter_value(iterator, &count)
      return UnsafeRawBufferPointer(start: start, count: count)
    }

    @inline(__always) private func bytes(of slice: OpaquePointer) -> UnsafeRawBufferPointer {
      var count = 0
      let start = rocksdb_pinnableslice_value(slice, &count)
      return UnsafeRawBufferPointer(start: start, count: count)
    }

    private func made(_ pointer: OpaquePointer?) throws -> OpaquePointer { try RocksDBHandles.made(pointer) }
    private func check(_ error: UnsafeMutablePointer<CChar>?) throws { try RocksDBHandles.check(error) }
    @inline(__always) private func checking(
      _ body: (inout UnsafeMutablePointer<CChar>?) -> Void
    ) throws {
      var error: UnsafeMutablePointer<CChar>?
      body(&error)
      try check(error)
    }
  }
#endif
