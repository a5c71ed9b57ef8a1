// What is noted of collections and of the database as a whole.

internal import QuireStorage

extension SalvageWork {
  /// Reads what is noted of collections, their dictionaries and the whole database; copies the last.
  ///
  /// - Throws: `newerFormat` if the rows are in a form that is not known.
  func salvageNotes(
    _ tx: borrowing QuireStorage.WriteTransaction, _ trees: DatabaseTrees, _ path: String
  ) throws {
    try forEach(sources.info, "notes") { entry throws in
      guard entry.integerKey == nil else { return }
      let (key, value) = unsafe ([UInt8](entry.key), [UInt8](entry.value))
      switch key {
      case DatabaseTrees.formatKey:
        guard value == [DatabaseTrees.formatVersion] else {
          throw DatabaseError(
            .newerFormat, "The rows are stored in format \(value), which this version does not know. Use a newer one.",
            path: path)
        }
      case DatabaseTrees.nextCollectionIDKey:
        collections.noted = UInt32(littleEndianBytes: value) ?? 1
      default: try tx.put(value, for: key, in: trees.info)
      }
    }
    try tellLosses(of: sources.info, as: .madeAnew, "Notes of the whole database, as far as they can be made anew")
    try forEach(sources.collections, "collections") { entry throws in
      guard entry.integerKey == nil else { return }
      let defect = unsafe collections.take(
        [UInt8](entry.key), [UInt8](entry.value), isCurrent: entry.standing == .current)
      if let defect { try report(SalvageFinding(.lostContent, "In the notes of collections \(defect).")) }
    }
    try tellLosses(of: sources.collections, as: .madeAnew, "Notes of collections; lost names are told by themselves")
    try forEach(sources.dictionaries, "dictionaries") { entry throws in
      guard entry.integerKey == nil else { return }
      let defect = unsafe collections.takeDictionary([UInt8](entry.key), [UInt8](entry.value))
      if let defect { try report(SalvageFinding(.lostContent, "In the dictionaries: \(defect).")) }
    }
    try tellLosses(of: sources.dictionaries, as: .madeAnew, "Dictionaries; rows that need them are told by themselves")
  }

  /// Names and stores collections, and looks whether encrypted rows can be decrypted.
  func finishCollections(_ tx: borrowing QuireStorage.WriteTransaction, _ trees: DatabaseTrees) throws {
    for finding in collections.nameRest() { try report(finding) }
    try collections.store(tx, trees)
    if hasSealed, try !tx.contains(EncryptionSalt.saltKey, in: trees.info) {
      try report(
        SalvageFinding(
          .lostContent,
          """
          What the keys of encrypted rows are derived with is lost. The rows are there, but nobody can decrypt them: \
          restore a backup.
          """))
    }
  }

  /// Sees to it that no number of a row is given again.
  func reserveRowNumbers(_ tx: borrowing QuireStorage.WriteTransaction) throws {
    let next = max(reader.source.nextRowID, lastRow + 1)
    let first = try tx.allocateRowIDs(0)
    assert(first > 0 && lastRow >= 0, "a row has no number")
    if next > first { _ = try tx.allocateRowIDs(Int(next - first)) }
  }

  /// Tells what is not taken over, and of which trees nobody knows what they are.
  func tellRest() throws {
    for (name, _) in sources.feeds {
      try report(
        SalvageFinding(
          .leftOut,
          "The change feed “\(name)” begins anew: its cursors are refused, and consumers have to begin from a snapshot."
        ))
    }
    for tree in sources.unknown {
      // What is not walked has no losses.
      var count = 0
      try forEach(tree, "unknown trees") { _ in count += 1 }
      guard count > 0 || !losses(of: tree).isEmpty else { continue }
      try report(SalvageFinding(.lostContent, "The name of \(tree.id) is lost, and so is what it was.", count: count))
    }
  }

  /// What became of the rows of each collection.
  var rowCounts: [SalvagedRowCount] {
    collections.all.filter { $0.value.kept + $0.value.lost > 0 }
      .map { id, collection in
        SalvagedRowCount(
          collection: collections.name(of: id), kept: collection.kept, old: collection.old,
          lost: collection.lost)
      }
      .sorted { $0.collection.utf8.lexicographicallyPrecedes($1.collection.utf8) }
  }
}
