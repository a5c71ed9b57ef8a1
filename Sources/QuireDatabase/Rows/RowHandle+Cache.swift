// Reading rows through the cache of objects.

internal import QuireStorage

extension OpenedCollection {
  /// Whether the transaction may use the cache for this collection. One load, of what a get looks at anyway.
  @inlinable @inline(__always) var isCached: Bool {
    unsafe reference._withUnsafeGuaranteedRef { unsafe $0.cache != nil }
  }

  /// Calls `body` with the entry of a row, if there is one that this snapshot shows; returns what `body` returns:
  /// whether it is of use. `body` runs under a latch, and does no more than to copy what it needs. In any case `place`
  /// becomes where the row's entry would be.
  ///
  /// Of a transaction that is over, or has failed, nothing is found: the call that goes on to the trees throws why.
  @usableFromInline @inline(never)
  func useCached(
    _ key: String, _ types: CachedTypes, _ place: inout CachePlace, _ body: (Unmanaged<CacheEntry>) -> Bool
  ) -> Bool {
    guard transaction.isUsable else { return false }
    let csn = transaction.csn
    return unsafe reference._withUnsafeGuaranteedRef { state in
      guard let cache = unsafe state.cache, let id = state.id else { return false }
      return unsafe cache._withUnsafeGuaranteedRef { cache in
        place = cache.place(id, key)
        return unsafe cache.use(&place, key, csn: csn, cleared: state.cacheCleared, types, body)
      }
    }
  }

  /// The same for a row of which the number is known.
  @usableFromInline @inline(never)
  func useCached(_ rowID: RowID, _ types: CachedTypes, _ body: (Unmanaged<CacheEntry>) -> Bool) -> Bool {
    guard transaction.isUsable else { return false }
    let csn = transaction.csn
    return unsafe reference._withUnsafeGuaranteedRef { state in
      guard let cache = unsafe state.cache, let id = state.id else { return false }
      return unsafe cache._withUnsafeGuaranteedRef { cache in
        unsafe cache.use(rowID, id, csn: csn, cleared: state.cacheCleared, types, body)
      }
    }
  }

  /// Takes in what was read of a row.
  @usableFromInline @inline(never)
  func keep(_ entry: CacheEntry, _ lines: CachedLines, _ place: CachePlace) {
    let csn = transaction.csn
    unsafe reference._withUnsafeGuaranteedRef { state in
      unsafe state.cache?._withUnsafeGuaranteedRef { cache in
        cache.insert(entry, lines, place, csn: csn, cleared: state.cacheCleared)
      }
    }
  }
}

extension RowHandle {
  @usableFromInline typealias Kept = CachedRow<Object, Metadata>

  @inlinable @inline(__always) var cachedTypes: CachedTypes { CachedTypes(Object.self, Metadata.self) }

  /// What `copy` makes of a row's entry, if there is one that this snapshot shows; `copy` returns whether it has made
  /// something.
  ///
  /// It is made in memory of its own, which nothing was in before: a variable that may be nil would be looked at again
  /// each time it is set, and what is in it be destroyed through its type, which costs more than finding it.
  @inlinable @inline(__always)
  func copied<Copy>(
    _ key: String, _ place: inout CachePlace, _ copy: (Kept, UnsafeMutablePointer<Copy>) -> Bool
  ) -> Copy? {
    unsafe withUnsafeTemporaryAllocation(of: Copy.self, capacity: 1) { room in
      guard let room = room.baseAddress else { return nil }
      let isFound = unsafe opened.useCached(key, cachedTypes, &place) { entry in
        // The types were compared.
        unsafe entry._withUnsafeGuaranteedRef { unsafe copy(unsafeDowncast($0, to: Kept.self), room) }
      }
      return isFound ? unsafe room.move() : nil
    }
  }

  /// The object of a row, if it is there.
  @inlinable @inline(__always) func findObject(_ key: String, _ place: inout CachePlace) -> Object? {
    unsafe copied(key, &place) { row, room in
      unsafe room.initialize(to: row.object)
      return true
    }
  }

  /// A row that is known with its metadata.
  @inlinable func findRow(_ key: String, _ place: inout CachePlace) -> Row<Object, Metadata>? {
    unsafe copied(key, &place) { row, room in
      guard let metadata = row.metadata else { return false }
      unsafe room.initialize(to: Row(key: key, rowID: row.rowID, object: row.object, metadata: metadata))
      return true
    }
  }

  // MARK: One row

  /// Like `get`, through the cache.
  @inlinable @inline(never) func getCached(_ key: String) throws(DatabaseError) -> Object? {
    var place = CachePlace()
    if let object = findObject(key, &place) { return object }
    return try getUncached(key, place)
  }

  /// Goes for an object that was not in the cache.
  @inlinable @inline(never) func getUncached(_ key: String, _ place: CachePlace) throws(DatabaseError) -> Object? {
    var object: Object?
    var (rowID, byteCount): (RowID?, Int) = (nil, 0)
    try unsafe opened.withNumberedObject(key, &rowID, protections) { bytes, context in
      byteCount = bytes.count
      object = try unsafe decode(bytes, context, key)
    }
    if place.isWanted, let rowID, let object { keep(object, nil, rowID, key, byteCount, place) }
    withExtendedLifetime(own) {}
    return object.take()
  }

  /// Like `row`, through the cache.
  @inlinable @inline(never) func rowCached(_ key: String) throws(DatabaseError) -> Row<Object, Metadata>? {
    var place = CachePlace()
    if let found = findRow(key, &place) { return found }
    var found: Row<Object, Metadata>?
    try opened.withRow(key) { rowID, view in
      let row = try self.row(key, rowID, view)
      keep(row, view, place)
      found = row
    }
    return found
  }

  /// Like `metadata`, through the cache; `.some(nil)` for a row without, nil if nothing is known.
  func metadataCached(_ key: String) -> Metadata?? {
    var place = CachePlace()
    return unsafe copied(key, &place) { row, room in
      guard let metadata = row.metadata else { return false }
      unsafe room.initialize(to: metadata)
      return true
    }
  }

  /// The object of the row of a number if it is in the cache, which it is found in without a look at any tree. What is
  /// not there, or is a row of another collection, is nil.
  package func objectCached(_ rowID: RowID) -> Object? {
    guard isCached else { return nil }
    return unsafe withUnsafeTemporaryAllocation(of: Object.self, capacity: 1) { room in
      guard let room = room.baseAddress else { return nil }
      let isFound = unsafe opened.useCached(rowID, cachedTypes) { entry in
        unsafe entry._withUnsafeGuaranteedRef { entry in
          unsafe room.initialize(to: unsafeDowncast(entry, to: Kept.self).object)
        }
        return true
      }
      return isFound ? unsafe room.move() : nil
    }
  }

  /// The object of a row whose bytes were read already: through the cache, which spares decoding.
  func objectCached(_ key: String, _ rowID: RowID, of bytes: [UInt8]) throws -> Object {
    var place = CachePlace()
    if let object = findObject(key, &place) { return object }
    return try unsafe bytes.withUnsafeBytes { bytes in
      let view = try unsafe RowView(bytes)
      let object = try self.object(view, key)
      if place.isWanted { keep(object, nil, rowID, key, view.objectByteCount, place) }
      return object
    }
  }

  @inlinable
  func keep(_ row: Row<Object, Metadata>, _ view: RowView, _ place: CachePlace) {
    guard place.isWanted else { return }
    keep(row.object, .some(row.metadata), row.rowID, row.key, view.objectByteCount, place)
  }

  /// Takes a row in.
  @inlinable @inline(never)
  func keep(
    _ object: Object, _ metadata: Metadata??, _ rowID: RowID, _ key: String, _ byteCount: Int, _ place: CachePlace
  ) {
    let lines = unsafe withUnsafeBytes(of: object) { unsafe CachedLines(of: $0) }
    opened.keep(Kept(place, rowID, key, object, metadata, encodedByteCount: byteCount), lines, place)
  }

  // MARK: Many rows

  /// Like `rows(for:)`, through the cache.
  @inlinable @inline(never)
  func rowsCached(_ keys: [String]) throws(DatabaseError) -> [Row<Object, Metadata>] {
    try rowsCached(keys) { key, place in
      findRow(key, &place)
    } miss: { key, rowID, view, place in
      let row = try self.row(key, rowID, view)
      keep(row, view, place)
      return row
    }
  }

  /// Like `objects(for:)`, through the cache.
  @inlinable @inline(never) func objectsCached(_ keys: [String]) throws(DatabaseError) -> [Object] {
    try rowsCached(keys) { key, place in
      findObject(key, &place)
    } miss: { key, rowID, view, place in
      let object = try self.object(view, key)
      if place.isWanted { keep(object, nil, rowID, key, view.objectByteCount, place) }
      return object
    }
  }

  /// Looks every key up in the cache, and those that are not there in the trees, side by side.
  @inlinable
  func rowsCached<Element>(
    _ keys: [String],
    hit: (String, inout CachePlace) -> Element?,
    miss: (String, RowID, RowView, CachePlace) throws -> Element
  ) throws(DatabaseError) -> [Element] {
    var elements: [Element?] = []
    elements.reserveCapacity(keys.count)
    var missing: [String] = []
    var places: [(index: Int, place: CachePlace)] = []
    for key in keys {
      var place = CachePlace()
      let element = hit(key, &place)
      if element == nil {
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
}

extension RowView {
  /// About how long object and metadata are.
  @usableFromInline var objectByteCount: Int { unsafe object.count + (metadata?.count ?? 0) }
}
