// What keeps indexes up to date in a write transaction.

public import QuireDatabase

/// The indexes of a collection in one write transaction.
public final class IndexWriter<Object: Sendable, Metadata: Sendable>: ExtensionWriter {
  private let collection: RowCollection<Object, Metadata>
  let upkeep: IndexUpkeep
  public var store: ExtensionStore { upkeep.store }
  /// Whether records are made of rows as they are read back: closures of a program's own may have stored something else
  /// than they were given, and an index says what a reader finds.
  private let readsBack: Bool
  /// Reads rows back; made when the first one is.
  private var rowReader: RecordReader<Object, Metadata>?

  init(_ collection: RowCollection<Object, Metadata>, _ upkeep: IndexUpkeep) {
    self.collection = collection
    self.upkeep = upkeep
    readsBack = collection.coder.isCustom || upkeep.list.fields.needsMetadata && collection.metadataCoder.isCustom
  }

  /// The indexes as they are in the transaction, its own changes included.
  public var reader: IndexReader<Object, Metadata> { IndexReader(collection, upkeep.view) }

  public func willBuild(_ reason: ExtensionBuildReason) throws {
    rowReader = nil
    try upkeep.begin()
  }

  public func build(_ rows: UnbuiltRows) throws {
    let reader = RecordReader(store.readTransaction[collection], upkeep.list.fields, upkeep.map)
    try reader.forEachRecord(in: rows) { rowID, record in try upkeep.take(record, rowID) }
  }

  public var needsWillChange: Bool { false }

  public func didChange(_ change: RowChange) throws {
    guard let rowID = change.rowID, change.kind.isStore || change.kind == .remove else { return }
    let new = change.kind == .remove ? nil : try record(change)
    try upkeep.change(rowID, to: new, isInsert: change.kind == .insert)
  }

  /// The record of a row that has been stored.
  private func record(_ change: RowChange) throws -> RowRecord? {
    if readsBack { return try recordReadBack(change) }
    guard let object = try change.object(in: collection) else { return nil }
    let metadata = upkeep.list.fields.needsMetadata ? try change.metadata(in: collection) : nil
    return try upkeep.list.fields.record(object, metadata, upkeep.map)
  }

  @inline(never) private func recordReadBack(_ change: RowChange) throws -> RowRecord? {
    guard let rowID = change.rowID else { return nil }
    let reader = rowReader ?? RecordReader(store.readTransaction[collection], upkeep.list.fields, upkeep.map)
    rowReader = reader
    var found: RowRecord?
    try reader.forEachRecord(withIDs: [rowID]) { _, record in found = record }
    return found
  }

  public func settleTrees() throws { try upkeep.settle() }

  public func didClear(_ collection: String) throws { try upkeep.clear() }

  public func didClearAll() throws { try upkeep.clear() }

  public func makeMark() -> Any? { upkeep.makeMark() }

  public func restore(_ mark: Any?) { upkeep.restore(mark) }
}
