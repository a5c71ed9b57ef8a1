// What keeps a full text of many collections up to date.

public import QuireDatabase

/// A full text of many collections in one write transaction.
///
/// Invariant: after each hook the words in the trees and those that are gathered are those of the texts in "texts".
public final class FamilyTextWriter: ExtensionWriter, TextKeeping {
  private let fullText: FamilyText
  private let texts: FamilyTexts
  let upkeep: FullTextUpkeep
  public var store: ExtensionStore { upkeep.trees.store }
  public var needsWillChange: Bool { false }

  init(_ fullText: FamilyText, _ store: ExtensionStore) throws {
    self.fullText = fullText
    texts = try FamilyTexts(store, fullText.layout)
    upkeep = try FullTextUpkeep(FullTextTrees(store, fullText.layout))
  }

  /// The full text as it is in the transaction, its own changes included.
  public var reader: FamilyTextReader { FamilyTextReader(fullText, upkeep.trees, texts) }

  public func willBuild(_ reason: ExtensionBuildReason) throws { try upkeep.begin(.ready) }

  public func didChange(_ change: RowChange) throws {
    guard let row = change.rowID else { return }
    let new = change.kind == .remove ? nil : try fullText.texts(change)
    assert(new.map { $0.count == fullText.fieldNames.count } ?? true, "a row has texts for other fields")
    let oldBytes = try texts.tree.value(for: row)
    let newBytes = new.map(FamilyTexts.bytes)
    if oldBytes == newBytes { return }
    if let oldBytes {
      let old = try texts.texts(oldBytes, of: row)
      try upkeep.willChange(row, change.key) { try FamilyTexts.forEachText(old, $0) }
    }
    if let new, let newBytes {
      try upkeep.didChange(row, change.key, isInsert: oldBytes == nil) { try FamilyTexts.forEachText(new, $0) }
      try texts.tree.put(newBytes, for: row)
    } else {
      try upkeep.didChange(row, change.key, isInsert: false, nil)
      try texts.tree.remove(row)
    }
  }

  public func settleTrees() throws { try upkeep.settle() }

  public func didClearAll() throws { try upkeep.clear() }

  public func makeMark() -> Any? { upkeep.makeMark() }

  public func restore(_ mark: Any?) { upkeep.restore(mark) }
}
