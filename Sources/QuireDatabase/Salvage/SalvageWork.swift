// The work of salvaging: what all steps share.

internal import QuireStorage

/// One salvage, from the damaged trees into those of a new database.
///
/// Memory: what is noted of collections, with their dictionaries; the numbers of rows that are lost, and twice of those
/// that may be old or that nothing proves; the records of extensions; and what the reader and one transaction take.
final class SalvageWork {
  let reader: SalvageReader
  private let sink: (SalvageFinding) throws -> Void
  private let tell: (String) -> Void
  var sources: SalvagedTrees
  var collections = SalvagedCollections()
  var rowCount = 0
  var entryCount = 0
  private(set) var lossCount = 0
  /// Rows of the new database that may be old, as long as nothing proves that they are there.
  var doubtful: Set<Int64> = []
  /// Rows of the new database that no checksum proves.
  var unproven: Set<Int64> = []
  /// Rows of the new database that may be old or that nothing proves, and whose key another such row has: the key index
  /// of the damaged database says which of them is there.
  var contested: Set<Int64> = []
  /// Rows that were told as lost.
  var lostRows: Set<Int64> = []
  /// The highest number of a row that anything names.
  var lastRow: Int64 = 0
  var hasSealed = false
  let room = DecodingRoom()

  init(
    _ reader: SalvageReader, _ report: @escaping (SalvageFinding) throws -> Void, _ progress: @escaping (String) -> Void
  ) {
    self.reader = reader
    sink = report
    tell = progress
    sources = SalvagedTrees(reader.trees)
  }

  func report(_ finding: SalvageFinding) throws {
    if finding.isLoss { lossCount += 1 }
    try sink(finding)
  }

  /// Calls `body` with each entry of a tree.
  func forEach(_ tree: SalvagedTree?, _ what: String, _ body: (SalvagedEntry) throws -> Void) throws {
    guard let tree else { return }
    tell(what)
    var seen = 0
    try reader.forEachEntry(of: tree) { entry throws in
      seen += 1
      if seen % 4096 == 0 {
        try Task.checkCancellation()
        tell("\(what), \(seen)")
      }
      try body(entry)
    }
  }

  // MARK: Losses

  /// What the reader has found of a tree.
  func losses(of tree: SalvagedTree?) -> [SalvageLoss] {
    guard let tree else { return [] }
    return Array(reader.losses(of: tree))
  }

  /// Tells what the reader has found of a tree, as the kind that it is there.
  func tellLosses(of tree: SalvagedTree?, as kind: SalvageFinding.Kind, _ what: String) throws {
    for loss in losses(of: tree) { try report(SalvageFinding(kind, loss, "\(what). \(loss.sentence)")) }
  }

  /// Tells what concerns no tree.
  func tellGeneralLosses() throws {
    for loss in reader.losses where loss.tree == nil {
      let kind: SalvageFinding.Kind =
        switch loss.kind {
        // Two meta pages that verify say nothing of a third, which a newer log tells of.
        case .log, .metaPage: .lostCommits
        case .catalog, .range, .value: .lostContent
        }
      try report(SalvageFinding(kind, loss, loss.sentence))
    }
  }

  // MARK: Trees that are copied as they are

  /// Copies a tree of somebody else entry by entry, under another name if the new database cannot have its own.
  func copy(_ source: SalvagedTree, _ noted: String, _ tx: borrowing QuireStorage.WriteTransaction) throws {
    var name = noted
    let isPossible = 1...QuireStorage.Limits.treeNameByteCount ~= noted.utf8.count
    if !isPossible || tx.tree(named: noted) != nil {
      name = freeName(source, tx)
      try report(
        SalvageFinding(
          .lostName,
          """
          \(source.id) has the name “\(String(noted.prefix(64)))”, which \
          \(isPossible ? "another one has" : "none can have"): it is called “\(name)”.
          """, count: source.count))
    }
    let target = try tx.createTree(name, keys: source.keyKind)
    var doubtfulCount = 0
    try forEach(source, "the tree “\(name)”") { entry throws in
      if entry.standing != .current { doubtfulCount += 1 }
      if let key = entry.integerKey {
        unsafe try tx.put(entry.value, for: key, in: target)
      } else {
        unsafe try tx.put(entry.value, for: entry.key, in: target)
      }
      entryCount += 1
    }
    if doubtfulCount > 0 {
      try report(SalvageFinding(.oldRow, "Entries of the tree “\(name)” may be old.", count: doubtfulCount))
    }
    try tellLosses(of: source, as: .lostContent, "A part of the tree “\(name)”")
  }

  /// A name for a tree whose own the new database cannot have, or is lost.
  private func freeName(_ tree: SalvagedTree, _ tx: borrowing QuireStorage.WriteTransaction) -> String {
    // Others that are copied later keep theirs.
    let taken = Set(sources.others.map { ByteString($0.name) })
    var name = "salvaged.\(tree.id.rawValue)"
    while taken.contains(ByteString(name)) || tx.tree(named: name) != nil { name += "'" }
    assert(name.utf8.count <= QuireStorage.Limits.treeNameByteCount, "a name that is made up is too long")
    return name
  }

  /// Copies trees whose names are lost under other ones: those of an engine that is used alone.
  func copyUnknown(_ tx: borrowing QuireStorage.WriteTransaction) throws {
    for tree in sources.unknown {
      let name = freeName(tree, tx)
      try copy(tree, name, tx)
      try report(
        SalvageFinding(.lostName, "The name of \(tree.id) is lost: it is called “\(name)”.", count: tree.count))
    }
    sources.unknown = []
  }
}

extension SalvageLoss {
  /// The reason as a sentence.
  var sentence: String {
    let end = reason.hasSuffix(".") ? "" : "."
    return reason.prefix(1).uppercased() + reason.dropFirst() + end
  }
}
