// Many rows at once, looked up side by side.

internal import QuireStorage

extension UntypedRows {
  /// Makes the objects of the rows of `entries` at `place`, one behind the other, and sets `count` to their number,
  /// also if one fails.
  func decodeObjects(
    of entries: [IndexEntry], into place: UnsafeMutableRawPointer, _ count: inout Int
  ) throws(DatabaseError) {
    let stride = withDescription { $0.object.stride }
    try opened.forEachRow(of: entries) { index, entry, row in
      assert(index == count && index < entries.count, "an object is made beside its place")
      try unsafe decodeObject(of: row, entry.key, into: place + index &* stride)
      count = index &+ 1
    }
  }

  /// The rows under `keys` that exist, in the order of `keys`.
  @usableFromInline func rows(_ keys: [String]) throws(DatabaseError) -> FetchedRows {
    if isCached {
      return try unsafe manyCached(keys, [.object, .metadata]) { key, place, object, metadata in
        unsafe copyCached(key, &place, to: object, metadata)
      } miss: { entry, row, place, object, metadata throws in
        let hasMetadata = try unsafe decode(row, entry.key, into: object, metadata)
        unsafe keep(object, hasMetadata ? metadata : nil, row, entry.rowID, entry.key, place)
        return hasMetadata
      }
    }
    let entries = try opened.entries(keys, [.object, .metadata])
    let fetched = FetchedRows(self, hasObjects: true, entries.count)
    try opened.forEachRow(of: entries) { _, entry, row in
      try fetched.append(entry.key, entry.rowID, row, self)
    }
    return fetched
  }

  /// The rows under `keys` that exist with their objects alone, through the cache.
  func objectsCached(_ keys: [String]) throws(DatabaseError) -> FetchedRows {
    try unsafe manyCached(keys, .object) { key, place, object, _ in
      unsafe copyCached(key, &place, to: object) ? (RowID(0), false) : nil
    } miss: { entry, row, place, object, _ throws in
      try unsafe decodeObject(of: row, entry.key, into: object)
      if place.isWanted { unsafe keep(object, nil, entry.rowID, entry.key, row.objectByteCount, place) }
      return false
    }
  }

  /// Looks every key up in the cache, and those that are not there in the trees, side by side.
  ///
  /// - Parameters:
  ///   - hit: copies the halves of a row, if it is in the cache, and returns whether there are metadata.
  ///   - miss: makes the halves of a row, and returns whether there are metadata.
  private func manyCached(
    _ keys: [String], _ halves: RowHalves,
    hit: (String, inout CachePlace, UnsafeMutableRawPointer, UnsafeMutableRawPointer) -> (RowID, hasMetadata: Bool)?,
    miss: (IndexEntry, RowView, CachePlace, UnsafeMutableRawPointer, UnsafeMutableRawPointer) throws -> Bool
  ) throws(DatabaseError) -> FetchedRows {
    let fetched = FetchedRows(self, hasObjects: true, keys.count)
    var missing: [String] = []
    var places: [(index: Int, place: CachePlace)] = []
    for key in keys {
      let index = fetched.appendPlace()
      var place = CachePlace()
      let isHit = unsafe fetched.put(at: index, key) { object, metadata in
        unsafe hit(key, &place, object, metadata)
      }
      if isHit { continue }
      places.append((index, place))
      missing.append(key)
    }
    guard !missing.isEmpty else { return fetched }
    // Keys without a row are passed over.
    var next = 0
    let entries = try opened.entries(missing, halves)
    try opened.forEachRow(of: entries) { _, entry, row in
      while next < missing.count, !missing[next].hasSameBytes(as: entry.key) { next += 1 }
      let (index, place) = places[next]
      try unsafe fetched.put(at: index, entry.key, entry.rowID) { object, metadata throws in
        try unsafe miss(entry, row, place, object, metadata)
      }
      next += 1
    }
    return fetched
  }
}
