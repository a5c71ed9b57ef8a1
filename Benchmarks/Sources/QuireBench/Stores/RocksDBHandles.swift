// How RocksDB is configured and opened.

#if PEER_ROCKSDB
  internal import CRocksDB

  /// An open database with everything that was made for opening it.
  ///
  /// The settings are those of the wiki's page on basic tuning (levels sized dynamically, background jobs, writing back
  /// steadily, filters of 10 bits per key kept in the cache), but for the block size: its 16 KiB are for disks, and the
  /// default of 4 KiB is faster where blocks come from memory. No compression, because the values are random.
  struct RocksDBHandles {
    let database: OpaquePointer
    /// The only column family: the call for many keys wants one.
    let family: OpaquePointer
    let options: OpaquePointer
    let writeOptions: OpaquePointer
    private let cache: OpaquePointer

    init(directory: String, options store: StoreOptions) throws {
      let options = try Self.made(rocksdb_options_create())
      rocksdb_options_set_create_if_missing(options, 1)
      rocksdb_options_set_compression(options, CInt(rocksdb_no_compression))
      rocksdb_options_set_level_compaction_dynamic_level_bytes(options, 1)
      rocksdb_options_set_max_background_jobs(options, 6)
      rocksdb_options_set_bytes_per_sync(options, 1 << 20)
      let cache = try Self.made(rocksdb_cache_create_lru(store.cacheSize))
      let tables = try Self.made(rocksdb_block_based_options_create())
      defer { rocksdb_block_based_options_destroy(tables) }
      rocksdb_block_based_options_set_block_cache(tables, cache)
      // The options take the filter over and destroy it.
      rocksdb_block_based_options_set_filter_policy(tables, rocksdb_filterpolicy_create_bloom_full(10))
      rocksdb_block_based_options_set_cache_index_and_filter_blocks(tables, 1)
      rocksdb_block_based_options_set_pin_l0_filter_and_index_blocks_in_cache(tables, 1)
      rocksdb_block_based_options_set_format_version(tables, 5)
      rocksdb_options_set_block_based_table_factory(options, tables)
      let writeOptions = try Self.made(rocksdb_writeoptions_create())
      rocksdb_writeoptions_set_sync(writeOptions, store.durability == .full ? 1 : 0)
      (self.options, self.cache, self.writeOptions) = (options, cache, writeOptions)
      (database, family) = try Self.open(directory, options)
    }

    private static func open(
      _ directory: String, _ options: OpaquePointer
    ) throws -> (database: OpaquePointer, family: OpaquePointer) {
      var family: OpaquePointer?
      var error: UnsafeMutablePointer<CChar>?
      let opened = "default".withCString { name in
        var names: UnsafePointer<CChar>? = name
        var familyOptions: OpaquePointer? = options
        return rocksdb_open_column_families(options, directory, 1, &names, &familyOptions, &family, &error)
      }
      try check(error)
      return (try made(opened), try made(family))
    }

    func close() {
      rocksdb_column_family_handle_destroy(family)
      rocksdb_close(database)
      rocksdb_options_destroy(options)
      rocksdb_writeoptions_destroy(writeOptions)
      rocksdb_cache_destroy(cache)
    }

    static func made(_ pointer: OpaquePointer?) throws -> OpaquePointer {
      guard let pointer else { throw StoreFailure(description: "RocksDB: out of memory") }
      return pointer
    }

    static func check(_ error: UnsafeMutablePointer<CChar>?) throws {
      guard let error else { return }
      defer { rocksdb_free(error) }
      throw StoreFailure(description: "RocksDB: \(String(cString: error))")
    }
  }
#endif
