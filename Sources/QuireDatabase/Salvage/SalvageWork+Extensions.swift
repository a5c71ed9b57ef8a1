// Extensions: what is noted of them, and what they have that no row tells again.

internal import QuireStorage

extension SalvageWork {
  /// Notes all extensions as out of date, and copies what those have that keep content of their own.
  func salvageExtensions(
    _ tx: borrowing QuireStorage.WriteTransaction, _ rows: Tree, _ kinds: [any SalvagedContent.Type]
  ) throws {
    let found = try readNotes()
    for id in Set(sources.contents.keys).subtracting(found.records.map(\.record.id.rawValue)).sorted() {
      try report(
        SalvageFinding(
          .lostContent,
          """
          What is noted of the extension with the number \(id) is lost, its name among it. The app makes it anew when \
          it registers it; what it had of its own, such as edges made by hand, is lost.
          """))
    }
    guard found.next != nil || !found.records.isEmpty else { return }
    let catalog = try tx.createTree(ExtensionRecord.treeName, keys: .bytes)
    let last = (Array(sources.contents.keys) + found.records.map(\.record.id.rawValue)).max() ?? 0
    let next = min(max(found.next ?? 1, last &+ 1), ExtensionID.firstInMemory)
    try tx.put(next.littleEndianBytes, for: ExtensionCatalog.nextIDKey, in: catalog)
    for (name, stored) in found.records {
      var record = stored
      record.state = .stale
      try tx.put(record.bytes, for: ExtensionCatalog.recordKey(name), in: catalog)
      try salvageContent(of: name, stored, tx, rows, catalog, kinds)
    }
  }

  private struct Notes {
    var next: UInt32?
    var records: [(name: String, record: ExtensionRecord)] = []
  }

  private func readNotes() throws -> Notes {
    var notes = Notes()
    var taken: Set<UInt32> = []
    try forEach(sources.extensions, "extensions") { entry throws in
      guard entry.integerKey == nil, unsafe entry.key.first == UInt8(ascii: "r") || entry.key.count == 1 else { return }
      let (key, value) = unsafe ([UInt8](entry.key), [UInt8](entry.value))
      if key == ExtensionCatalog.nextIDKey { notes.next = UInt32(littleEndianBytes: value) }
      guard key.first == UInt8(ascii: "r") else { return }
      guard let name = String(validating: key.dropFirst(), as: UTF8.self),
        let record = try? ExtensionRecord(value, name: name),
        record.id < ExtensionID(rawValue: ExtensionID.firstInMemory),
        taken.insert(record.id.rawValue).inserted
      else { return try report(SalvageFinding(.lostContent, "What is noted of an extension breaks the format.")) }
      notes.records.append((name, record))
    }
    try tellLosses(
      of: sources.extensions, as: .madeAnew, "Notes of extensions are lost, which are made anew when registered")
    return notes
  }

  // MARK: Content

  private func salvageContent(
    of name: String, _ record: ExtensionRecord, _ tx: borrowing QuireStorage.WriteTransaction, _ rows: Tree,
    _ catalog: Tree, _ kinds: [any SalvagedContent.Type]
  ) throws {
    let trees = sources.contents[record.id.rawValue] ?? []
    let kind = kinds.first { $0.kind == record.kind && $0.formatVersion == record.formatVersion }
    // A record that does not say whether there is such content is of an old version.
    guard kind != nil || record.keepsOwnContent || record.collections == nil else { return }
    let target = SalvagedContentTarget(tx, rows, record.id, name) { [unowned self] in try report($0) }
    defer { entryCount += target.entryCount }
    guard let kind else {
      try copyValues(of: record.id, tx, catalog)
      for (inner, tree) in trees {
        try forEach(tree, "“\(name)”") { entry throws in
          if entry.standing != .mayBeOld { try target.copy(entry, of: tree.keyKind, to: inner) }
        }
        try tellLosses(of: tree, as: .lostContent, "A part of what “\(name)” keeps of its own, in its tree “\(inner)”")
      }
      return
    }
    var content = kind.init()
    for (inner, tree) in trees {
      try forEach(tree, "“\(name)”") { entry throws in
        if entry.standing != .mayBeOld { try content.take(SalvagedContentEntry(entry), of: inner, into: target) }
      }
    }
    let damaged = Set(trees.filter { !losses(of: $0.tree).isEmpty }.map(\.name))
    let costly = try content.finish(damaged, into: target)
    for (inner, tree) in trees where damaged.contains(inner) {
      let isLost = costly.contains(inner)
      try tellLosses(
        of: tree, as: isLost ? .lostContent : .madeAnew,
        "“\(name)” has lost a part of its tree “\(inner)”\(isLost ? "" : ", which its other trees tell again")")
    }
  }

  /// Copies the values that an extension has set.
  private func copyValues(
    of id: ExtensionID, _ tx: borrowing QuireStorage.WriteTransaction, _ catalog: Tree
  ) throws {
    let prefix = [UInt8(ascii: "v")] + id.rawValue.bigEndianBytes
    try forEach(sources.extensions, "values of extensions") { entry throws in
      guard entry.integerKey == nil, unsafe entry.key.starts(with: prefix) else { return }
      unsafe try tx.put(entry.value, for: entry.key, in: catalog)
      entryCount += 1
    }
  }
}
