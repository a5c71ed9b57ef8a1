// Reading rows through the cache of objects.

internal import QuireStorage

extension OpenedCollection {
  /// Whether the transaction may use the cache for this collection. One load, of what a get looks at anyway.
  @inline(__always) var isCached: Bool {
    unsafe reference._withUnsafeGuaranteedRef { unsafe $0.cache != nil }
  }

  /// Calls `body` with the entry of a row, if there is one that this snapshot shows; returns what `body` returns:
  /// whether it is of use. `body` runs under a latch, and does no more than to copy what it needs. In any case `place`
  /// becomes where the row's entry would be.
  ///
  /// Of a transaction that is over, or has failed, nothing is found: the call that goes on to the trees throws why.
  @inline(__always)
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
  @inline(__always)
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

  /// Where a row would be that was looked for by its number in vain. Notes the look as one by the key.
  func placeAfterMiss(_ key: String, _ types: CachedTypes) -> CachePlace {
    var place = CachePlace()
    _ = unsafe useCached(key, types, &place) { _ in false }
    return place
  }

  /// Takes in what was read of a row.
  @inline(never)
  fileprivate func keep(_ entry: CacheEntry, _ lines: CachedLines, _ place: CachePlace) {
    let csn = transaction.csn
    unsafe reference._withUnsafeGuaranteedRef { state in
      unsafe state.cache?._withUnsafeGuaranteedRef { cache in
        cache.insert(entry, lines, place, csn: csn, cleared: state.cacheCleared)
      }
    }
  }
}

extension UntypedRows {
  @inline(__always) private var cachedTypes: CachedTypes { withDescription { $0.types } }

  // MARK: Looking

  /// Copies the object of a row to `object`, if it is in the cache, and returns whether it is.
  func copyCached(_ key: String, _ place: inout CachePlace, to object: UnsafeMutableRawPointer) -> Bool {
    unsafe opened.useCached(key, cachedTypes, &place) { entry in
      // The types were compared.
      unsafe entry._withUnsafeGuaranteedRef { unsafe $0.copyObject(to: object) }
      return true
    }
  }

  /// Copies both halves of a row that is known with its metadata.
  func copyCached(
    _ key: String, _ place: inout CachePlace, to object: UnsafeMutableRawPointer, _ metadata: UnsafeMutableRawPointer
  ) -> (rowID: RowID, hasMetadata: Bool)? {
    var found: (RowID, Bool)?
    _ = unsafe opened.useCached(key, cachedTypes, &place) { entry in
      unsafe entry._withUnsafeGuaranteedRef { entry in
        let knowledge = entry.metadataKnowledge
        guard knowledge != .unknown else { return false }
        unsafe entry.copyObject(to: object)
        if knowledge == .present { unsafe entry.copyMetadata(to: metadata) }
        found = (entry.rowID, knowledge == .present)
        return true
      }
    }
    return found
  }

  /// The object of the row of a number, to be taken, if it is in the cache, which it is found in without a look at any
  /// tree. What is not there, or is a row of another collection, is nil.
  func objectCached(_ rowID: RowID) -> UnsafeMutableRawPointer? {
    guard isCached, transaction.isUsable else { return nil }
    return unsafe withRoom { (room, _) in
      let isFound = unsafe opened.useCached(rowID, cachedTypes) { entry in
        unsafe entry._withUnsafeGuaranteedRef { unsafe $0.copyObject(to: room) }
        return true
      }
      return unsafe isFound ? room : nil
    }
  }

  /// The metadata under `key`, to be taken, if the cache knows them; `.some(nil)` for a row without.
  func metadataCached(_ key: String) -> UnsafeMutableRawPointer?? {
    guard transaction.isUsable else { return nil }
    var place = CachePlace()
    return unsafe withRoom { (_, room) in
      var knowledge = MetadataKnowledge.unknown
      _ = unsafe opened.useCached(key, cachedTypes, &place) { entry in
        unsafe entry._withUnsafeGuaranteedRef { entry in
          knowledge = entry.metadataKnowledge
          if knowledge == .present { unsafe entry.copyMetadata(to: room) }
          return knowledge != .unknown
        }
      }
      return switch knowledge {
      case .unknown: nil
      case .absent: unsafe .some(nil)
      case .present: unsafe .some(room)
      }
    }
  }

  // MARK: Keeping

  /// Takes in a row whose object is at `object`; of metadata that were read, `metadata` has their place inside, if the
  /// row has some.
  @inline(never)
  func keep(
    _ object: UnsafeRawPointer, _ metadata: UnsafeRawPointer??, _ rowID: RowID, _ key: String, _ byteCount: Int,
    _ place: CachePlace
  ) {
    withDescription { description in
      let bytes = unsafe UnsafeRawBufferPointer(start: object, count: description.object.byteCount)
      let entry = unsafe description.entry(place, rowID, key, object, metadata, encodedByteCount: byteCount)
      unsafe opened.keep(entry, CachedLines(of: bytes), place)
    }
  }

  // MARK: One row

  // What is in a room stays there while a row is taken in: that lets go of others, whose classes may do anything then.

  /// Like `get`, through the cache.
  @inline(never) func getCached(_ key: String) throws(DatabaseError) -> UnsafeMutableRawPointer? {
    // Of a transaction that is over there is no room.
    try transaction.check()
    return try unsafe withRoom { (room, _) throws(DatabaseError) in
      var place = CachePlace()
      if unsafe copyCached(key, &place, to: room) { return unsafe room }
      return try unsafe getUncached(key, place, into: room) ? room : nil
    }
  }

  /// Goes for an object that was not in the cache, and returns whether there is one.
  @inline(never)
  private func getUncached(
    _ key: String, _ place: CachePlace, into room: UnsafeMutableRawPointer
  ) throws(DatabaseError) -> Bool {
    var isThere = false
    var (rowID, byteCount) = (RowID(0), 0)
    do {
      try unsafe opened.withObject(key, protections, { rowID = $0 }) { bytes, context in
        assert(!isThere, "a value is decoded over another one")
        byteCount = bytes.count
        try unsafe decodeObject(bytes, context, key, into: room)
        isThere = true
      }
    } catch {
      if isThere { unsafe destroyObject(room) }
      throw error
    }
    if isThere, place.isWanted { unsafe keep(room, nil, rowID, key, byteCount, place) }
    return isThere
  }

  /// Like `row`, through the cache.
  @inline(never) func rowCached(_ key: String) throws(DatabaseError) -> FoundRow? {
    try transaction.check()
    return try unsafe withRoom { (object, metadata) throws(DatabaseError) in
      var place = CachePlace()
      if let known = unsafe copyCached(key, &place, to: object, metadata) {
        return unsafe FoundRow(
          key: key, rowID: known.rowID, object: object, metadata: known.hasMetadata ? metadata : nil)
      }
      var found: FoundRow?
      do throws(DatabaseError) {
        try opened.withRow(key) { rowID, view in
          let hasMetadata = try unsafe decode(view, key, into: object, metadata)
          unsafe keep(object, hasMetadata ? metadata : nil, view, rowID, key, place)
          unsafe found = FoundRow(key: key, rowID: rowID, object: object, metadata: hasMetadata ? metadata : nil)
        }
      } catch {
        if let found { destroy(found) }
        throw error
      }
      return found
    }
  }

  /// Takes a row in if it is wanted.
  func keep(
    _ object: UnsafeRawPointer, _ metadata: UnsafeRawPointer?, _ view: RowView, _ rowID: RowID, _ key: String,
    _ place: CachePlace
  ) {
    if place.isWanted { unsafe keep(object, .some(metadata), rowID, key, view.objectByteCount, place) }
  }

  /// The object of a row whose bytes were read already, to be taken: through the cache, which spares decoding.
  func objectCached(_ key: String, _ rowID: RowID, of bytes: [UInt8]) throws -> UnsafeMutableRawPointer {
    try transaction.check()
    return try unsafe withRoom { (room, _) throws in
      var place = CachePlace()
      if unsafe copyCached(key, &place, to: room) { return unsafe room }
      try unsafe bytes.withUnsafeBytes { bytes in
        let view = try unsafe RowView(bytes)
        try unsafe decodeObject(of: view, key, into: room)
        if place.isWanted { unsafe keep(room, nil, rowID, key, view.objectByteCount, place) }
      }
      return unsafe room
    }
  }
}

extension RowView {
  /// About how long object and metadata are.
  var objectByteCount: Int { unsafe object.count + (metadata?.count ?? 0) }
}
