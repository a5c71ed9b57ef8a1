// Reading rows by way of the cache of objects.

internal import QuireStorage

extension OpenedCollection {
  /// Whether the transaction may use the cache for this collection. One load, of what a get looks at anyway.
  @inlinable @inline(__always) var isCached: Bool {
    unsafe reference._withUnsafeGuaranteedRef { unsafe $0.cache != nil }
  }

  /// Calls `body` with the entry of a row, if there is one that this snapshot shows; returns what `body` returns:
  /// whether it is of use. `body` runs under a latch, and does no more than to copy what it needs. In any case `place`
  /// becomes where the row's entry would be.
  @usableFromInline @inline(never)
  func useCached(
    _ key: String, _ types: CachedTypes, _ place: inout CachePlace, _ body: (Unmanaged<CacheEntry>) -> Bool
  ) throws(DatabaseError) -> Bool {
    try transaction.check()
    let csn = transaction.csn
    return unsafe reference._withUnsafeGuaranteedRef { state in
      guard let cache = unsafe state.cache, let id = state.id else { return false }
      return unsafe cache._withUnsafeGuaranteedRef { cache in
        place = cache.place(id, key)
        return unsafe cache.use(&place, key, csn: csn, cleared: state.cacheCleared, types, body)
      }
    }
  }

  /// Takes in what was read of a row.
  @usableFromInline @inline(never)
  func keep(_ entry: CacheEntry, _ place: CachePlace) {
    let csn = transaction.csn
    unsafe reference._withUnsafeGuaranteedRef { state in
      unsafe state.cache?._withUnsafeGuaranteedRef { cache in
        cache.insert(entry, place, csn: csn, cleared: state.cacheCleared)
      }
    }
  }
}

extension RowHandle {
  @inlinable @inline(__always) var cachedTypes: CachedTypes { CachedTypes(Object.self, Metadata.self) }

  /// What is kept of a row, for those who have compared its types.
  @inlinable @inline(__always)
  func row(_ entry: Unmanaged<CacheEntry>, _ body: (CachedRow<Object, Metadata>) -> Bool) -> Bool {
    unsafe entry._withUnsafeGuaranteedRef { unsafe body(unsafeDowncast($0, to: CachedRow<Object, Metadata>.self)) }
  }

  /// As `get`, by way of the cache.
  @inlinable @inline(never) func getCached(_ key: String) throws(DatabaseError) -> Object? {
    var object: Object?
    var place = CachePlace()
    let isFound = try unsafe opened.useCached(key, cachedTypes, &place) { entry in
      unsafe row(entry) { row in
        object = row.object
        return true
      }
    }
    // Taken: a copy would be counted, and there is nothing else in a hit that costs more.
    if isFound { return object.take() }
    var byteCount = 0
    try unsafe opened.withObject(key, protections) { bytes, context in
      byteCount = bytes.count
      object = try unsafe decode(bytes, context)
    }
    if place.isWanted, let object {
      opened.keep(
        CachedRow<Object, Metadata>(place, key, object, nil, encodedByteCount: byteCount), place)
    }
    withExtendedLifetime(own) {}
    return object.take()
  }

  /// As `row`, by way of the cache.
  @inlinable @inline(never) func rowCached(_ key: String) throws(DatabaseError) -> Row<Object, Metadata>? {
    var found: Row<Object, Metadata>?
    var place = CachePlace()
    if try findCached(key, &place, &found) { return found }
    try opened.withRow(key) { rowID, view in
      let row = try self.row(key, rowID, view)
      keep(row, view, place)
      found = row
    }
    return found
  }

  /// As `metadata`, by way of the cache; `.some(nil)` for a row without, nil if nothing is known.
  func metadataCached(_ key: String) throws(DatabaseError) -> Metadata?? {
    var found: Row<Object, Metadata>?
    var place = CachePlace()
    guard try findCached(key, &place, &found), let found else { return nil }
    return .some(found.metadata)
  }

  /// The object of a row whose bytes were read already, as when it was found by its number: by way of the cache, which
  /// spares decoding.
  func objectCached(_ key: String, of bytes: [UInt8]) throws -> Object {
    var object: Object?
    var place = CachePlace()
    let isFound = try unsafe opened.useCached(key, cachedTypes, &place) { entry in
      unsafe row(entry) { row in
        object = row.object
        return true
      }
    }
    if isFound, let object { return object }
    return try unsafe bytes.withUnsafeBytes { bytes in
      let view = try unsafe RowView(bytes)
      let decoded = try self.object(view, key)
      if place.isWanted {
        opened.keep(
          CachedRow<Object, Metadata>(place, key, decoded, nil, encodedByteCount: view.objectByteCount), place)
      }
      return decoded
    }
  }

  /// As `rows(for:)`, by way of the cache.
  @inlinable @inline(never)
  func rowsCached(_ keys: [String]) throws(DatabaseError) -> [Row<Object, Metadata>] {
    try rowsCached(keys) { (key, place, found) throws(DatabaseError) in
      try findCached(key, &place, &found)
    } miss: { key, rowID, view, place in
      let row = try self.row(key, rowID, view)
      keep(row, view, place)
      return row
    }
  }

  /// As `objects(for:)`, by way of the cache.
  @inlinable @inline(never) func objectsCached(_ keys: [String]) throws(DatabaseError) -> [Object] {
    try rowsCached(keys) { (key, place, found) throws(DatabaseError) in
      try unsafe opened.useCached(key, cachedTypes, &place) { entry in
        unsafe row(entry) { row in
          found = row.object
          return true
        }
      }
    } miss: { key, _, view, place in
      let object = try self.object(view, key)
      if place.isWanted {
        opened.keep(
          CachedRow<Object, Metadata>(place, key, object, nil, encodedByteCount: view.objectByteCount), place)
      }
      return object
    }
  }

  /// Looks every key up in the cache, and those that are not there in the trees, side by side.
  @inlinable @inline(__always)
  func rowsCached<Element>(
    _ keys: [String],
    hit: (String, inout CachePlace, inout Element?) throws(DatabaseError) -> Bool,
    miss: (String, RowID, RowView, CachePlace) throws -> Element
  ) throws(DatabaseError) -> [Element] {
    var elements: [Element?] = []
    elements.reserveCapacity(keys.count)
    var missing: [String] = []
    var places: [(index: Int, place: CachePlace)] = []
    for key in keys {
      var element: Element?
      var place = CachePlace()
      if try !hit(key, &place, &element) {
        places.append((elements.count, place))
        missing.append(key)
      }
      elements.append(element)
    }
    guard !missing.isEmpty else { return elements.compactMap { $0 } }
    // Keys without a row are passed over.
    var next = 0
    try opened.forEachRow(missing, { _ in }) { key, rowID, view in
      while next < missing.count, !missing[next].hasSameBytes(as: key) { next += 1 }
      elements[places[next].index] = try miss(key, rowID, view, places[next].place)
      next += 1
    }
    return elements.compactMap { $0 }
  }

  /// A row that is known with its number and metadata.
  @inlinable @inline(__always)
  func findCached(
    _ key: String, _ place: inout CachePlace, _ found: inout Row<Object, Metadata>?
  ) throws(DatabaseError) -> Bool {
    try unsafe opened.useCached(key, cachedTypes, &place) { entry in
      unsafe row(entry) { row in
        guard let rest = row.rest else { return false }
        found = Row(key: key, rowID: rest.rowID, object: row.object, metadata: rest.metadata)
        return true
      }
    }
  }

  @inlinable @inline(__always)
  func keep(_ row: Row<Object, Metadata>, _ view: RowView, _ place: CachePlace) {
    guard place.isWanted else { return }
    opened.keep(
      CachedRow(
        place, row.key, row.object, (row.rowID, row.metadata), encodedByteCount: view.objectByteCount),
      place)
  }
}

extension RowView {
  /// About how long object and metadata are.
  @usableFromInline var objectByteCount: Int { unsafe object.count + (metadata?.count ?? 0) }
}
