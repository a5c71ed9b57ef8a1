// Rows by their numbers, without knowing their types.

internal import QuireStorage

extension UntypedRows {
  /// The row of a number, to be taken; nil if there is none in the collection.
  @usableFromInline func row(withID rowID: RowID) throws(DatabaseError) -> FoundRow? {
    try opened.check()
    if isCached, let known = cachedRow(rowID) { return known }
    var found: FoundRow?
    do {
      try opened.withRow(withID: rowID, [.object, .metadata]) { key, view in
        let row = try self.found(key, rowID, view)
        found = row
        if isCached { unsafe keepIfWanted(row.object, row.metadata, view, rowID, key) }
      }
    } catch {
      if let found { destroy(found) }
      throw error
    }
    return found
  }

  /// The rows of these numbers that are in the collection, in the order of the numbers as given.
  @usableFromInline func rows(withIDs rowIDs: [RowID]) throws(DatabaseError) -> FetchedRows {
    try opened.check()
    let fetched = FetchedRows(self, hasObjects: true, rowIDs.count)
    if isCached {
      try fetchCached(rowIDs, fetched)
    } else {
      try opened.forEachRow(withIDs: rowIDs, [.object, .metadata]) { rowID, key, row in
        try fetched.append(key, rowID, row, self)
      }
    }
    return fetched
  }

  /// Looks every number up in the cache, and those that are not there in the trees, side by side.
  private func fetchCached(_ rowIDs: [RowID], _ fetched: FetchedRows) throws(DatabaseError) {
    var missing: [RowID] = []
    var places: [Int] = []
    for rowID in rowIDs {
      let index = fetched.appendPlace()
      guard let row = cachedRow(rowID) else {
        missing.append(rowID)
        places.append(index)
        continue
      }
      unsafe fetched.put(at: index, row.key, rowID) { object, metadata in
        withDescription { description in
          unsafe description.object.move(row.object, to: object)
          if let known = unsafe row.metadata { unsafe description.metadata.move(known, to: metadata) }
        }
        return unsafe row.metadata != nil
      }
    }
    // Numbers without a row are passed over.
    var next = 0
    try opened.forEachRow(withIDs: missing, [.object, .metadata]) { rowID, key, row in
      while next < missing.count, missing[next] != rowID { next += 1 }
      assert(next < missing.count, "a row is found that nobody has looked for")
      try unsafe fetched.put(at: places[next], key, rowID) { object, metadata throws in
        let hasMetadata = try unsafe decode(row, key, into: object, metadata)
        unsafe keepIfWanted(object, hasMetadata ? metadata : nil, row, rowID, key)
        return hasMetadata
      }
      next += 1
    }
  }

  /// A row that the cache knows with its metadata, to be taken.
  private func cachedRow(_ rowID: RowID) -> FoundRow? {
    unsafe withRoom { (object, metadata) in
      var found: FoundRow?
      _ = unsafe opened.useCached(rowID, withDescription { $0.types }) { entry in
        unsafe entry._withUnsafeGuaranteedRef { entry in
          let knowledge = entry.metadataKnowledge
          guard knowledge != .unknown else { return false }
          unsafe entry.copyObject(to: object)
          if knowledge == .present { unsafe entry.copyMetadata(to: metadata) }
          found = unsafe FoundRow(
            key: entry.key, rowID: rowID, object: object, metadata: knowledge == .present ? metadata : nil)
          return true
        }
      }
      return found
    }
  }

  /// Takes a row into the cache, which did not know its number, if it is wanted there.
  private func keepIfWanted(
    _ object: UnsafeRawPointer, _ metadata: UnsafeRawPointer?, _ row: RowView, _ rowID: RowID, _ key: String
  ) {
    unsafe keep(object, metadata, row, rowID, key, opened.placeAfterMiss(key, withDescription { $0.types }))
  }
}
