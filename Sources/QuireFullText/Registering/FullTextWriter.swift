// What keeps a full text up to date in a write transaction.

public import QuireDatabase

/// A full text in one write transaction.
public final class FullTextWriter<Object: Sendable, Metadata: Sendable>: ExtensionWriter, TextKeeping {
  let fullText: FullText<Object, Metadata>
  let upkeep: FullTextUpkeep
  public var store: ExtensionStore { upkeep.trees.store }
  /// Whether texts are made of rows as they are read back: closures of a program's own may have stored something else
  /// than they were given, and a search finds what a reader reads.
  private let readsBack: Bool
  /// Reads rows back; made when the first one is.
  private var rowReader: FieldReader<Object, Metadata>?

  init(_ fullText: FullText<Object, Metadata>, _ upkeep: FullTextUpkeep) {
    self.fullText = fullText
    self.upkeep = upkeep
    let collection = fullText.collection
    readsBack = collection.coder.isCustom || fullText.fields.needsMetadata && collection.metadataCoder.isCustom
  }

  /// The full text as it is in the transaction, its own changes included.
  ///
  /// Changes are gathered for a while. The first question after some stores them, and ends walks through rows that are
  /// under way, as any change does: ask before the walk, or collect what it yields first.
  public var reader: FullTextReader<Object, Metadata> { FullTextReader(fullText, upkeep.trees) }

  // MARK: Building

  public func willBuild(_ reason: ExtensionBuildReason) throws {
    rowReader = nil
    try upkeep.begin(fullText.building.goesRowByRow ? .ready : .unbuilt)
  }

  public func build(_ rows: UnbuiltRows) throws {
    guard upkeep.state == .ready else { return }
    let halves: RowHalves = fullText.fields.needsMetadata ? [.object, .metadata] : .object
    let reader = FieldReader(store.readTransaction[fullText.collection], halves: halves)
    try reader.forEachRow(in: rows) { rowID, _ in
      let row = try reader.row()
      try upkeep.build(rowID, row.key) { body in
        try fullText.fields.forEachText(of: row.object, row.metadata, body)
      }
    }
    try upkeep.settle()
  }

  // MARK: Hooks

  public func willChange(_ change: RowChange) throws {
    guard change.kind != .insert, let rowID = change.rowID else { return upkeep.willInsert(change.key) }
    guard change.kind.isStore || change.kind == .remove else { return }
    let collection = fullText.collection
    guard let object = try change.objectBefore(in: collection) else { return }
    let metadata = fullText.fields.needsMetadata ? try change.metadataBefore(in: collection) : nil
    try upkeep.willChange(rowID, change.key) { body in
      try fullText.fields.forEachText(of: object, metadata, body)
    }
  }

  public func didChange(_ change: RowChange) throws {
    guard let rowID = change.rowID else { return }
    if change.kind == .remove { return try upkeep.didChange(rowID, change.key, isInsert: false, nil) }
    guard change.kind.isStore, let (object, metadata) = try content(of: change, rowID) else { return }
    try upkeep.didChange(rowID, change.key, isInsert: change.kind == .insert) { body in
      try self.fullText.fields.forEachText(of: object, metadata, body)
    }
  }

  /// What a row holds that has been stored.
  private func content(of change: RowChange, _ rowID: RowID) throws -> (Object, Metadata?)? {
    if readsBack { return try contentReadBack(rowID) }
    guard let object = try change.object(in: fullText.collection) else { return nil }
    return (object, fullText.fields.needsMetadata ? try change.metadata(in: fullText.collection) : nil)
  }

  @inline(never) private func contentReadBack(_ rowID: RowID) throws -> (Object, Metadata?)? {
    let halves: RowHalves = fullText.fields.needsMetadata ? [.object, .metadata] : .object
    let reader = rowReader ?? FieldReader(store.readTransaction[fullText.collection], halves: halves)
    rowReader = reader
    var found: (Object, Metadata?)?
    try reader.forEachRow(withIDs: [rowID]) { _, _ in
      let row = try reader.row()
      found = (row.object, row.metadata)
      return true
    }
    return found
  }

  public func settleTrees() throws { try upkeep.settle() }

  public func didClear(_ collection: String) throws { try upkeep.clear() }

  public func didClearAll() throws { try upkeep.clear() }

  public func makeMark() -> Any? { upkeep.makeMark() }

  public func restore(_ mark: Any?) { upkeep.restore(mark) }

  // MARK: Merging

  /// Folds postings that have come by themselves into the long lists of their words, until about `count` of them are
  /// folded or none are left; returns how many were. Commits do it by themselves, a bounded piece each; this is for a
  /// time when nothing else is to be done.
  ///
  /// - Throws: `FullTextError.damaged`; `readOnly`, `transactionClosed`, `damagedPage`, `inputOutput`, `diskFull`.
  @discardableResult
  public func merge(count: Int = .max) throws -> Int {
    try upkeep.flush()
    return try upkeep.merge(count: count)
  }
}
