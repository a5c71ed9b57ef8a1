// Enumerating the rows of a view, as the original's Objective-C layer spells it; the same rules as for `iterate…`.

public import Foundation

extension YapDatabaseViewTransaction {
  /// Calls `block` with each group. New call: `ViewReader.groups`.
  public func enumerateGroups(_ block: (_ group: String, _ stop: YapDatabaseStop) -> Void) {
    iterateGroups { group, stop in stoppable(&stop) { block(group, $0) } }
  }

  /// Calls `block` with collection, key and index of each row of a group, or of a part of it. New call:
  /// `ViewReader.rows(in:_:)`.
  ///
  /// - Parameters:
  ///   - group: whose rows are handed over.
  ///   - options: `reverse` goes from the last row to the first; others have no meaning.
  ///   - range: the indexes, first to last in either direction; nil for all. What lies behind the end is left out.
  ///   - block: gets each of them; setting `stop` ends it.
  public func enumerateKeys(
    inGroup group: String, with options: NSEnumerationOptions = [], range: NSRange? = nil,
    using block: (_ collection: String, _ key: String, _ index: UInt, _ stop: YapDatabaseStop) -> Void
  ) {
    iterateKeys(inGroup: group, reversed: options.contains(.reverse), range: indexes(range)) {
      collection, key, index, stop in
      stoppable(&stop) { block(collection, key, UInt(index), $0) }
    }
  }

  /// Calls `block` with each row of a group, or of a part of it, without its object. Parameters as above. New call:
  /// `ViewReader.rows(in:_:)`.
  public func enumerateKeysAndMetadata(
    inGroup group: String, with options: NSEnumerationOptions = [], range: NSRange? = nil,
    using block: (_ collection: String, _ key: String, _ metadata: Any?, _ index: UInt, _ stop: YapDatabaseStop) -> Void
  ) {
    iterateKeysAndMetadata(inGroup: group, reversed: options.contains(.reverse), range: indexes(range)) {
      collection, key, metadata, index, stop in
      stoppable(&stop) { block(collection, key, metadata, UInt(index), $0) }
    }
  }

  /// Calls `block` with each row of a group, or of a part of it, without its metadata. Parameters as above. New call:
  /// `ViewReader.rows(in:_:)`.
  public func enumerateKeysAndObjects(
    inGroup group: String, with options: NSEnumerationOptions = [], range: NSRange? = nil,
    using block: (_ collection: String, _ key: String, _ object: Any, _ index: UInt, _ stop: YapDatabaseStop) -> Void
  ) {
    iterateKeysAndObjects(inGroup: group, reversed: options.contains(.reverse), range: indexes(range)) {
      collection, key, object, index, stop in
      stoppable(&stop) { block(collection, key, object, UInt(index), $0) }
    }
  }

  /// Calls `block` with each row of a group, or of a part of it. Parameters as above. New call:
  /// `ViewReader.rows(in:_:)`.
  public func enumerateRows(
    inGroup group: String, with options: NSEnumerationOptions = [], range: NSRange? = nil,
    using block: (
      _ collection: String, _ key: String, _ object: Any, _ metadata: Any?, _ index: UInt, _ stop: YapDatabaseStop
    ) -> Void
  ) {
    iterateRows(inGroup: group, reversed: options.contains(.reverse), range: indexes(range)) {
      collection, key, object, metadata, index, stop in
      stoppable(&stop) { block(collection, key, object, metadata, UInt(index), $0) }
    }
  }

  private func stoppable(_ stop: inout Bool, _ body: (YapDatabaseStop) -> Void) {
    let pointer = YapDatabaseStop()
    body(pointer)
    stop = pointer.pointee
  }

  /// The indexes of a range of the app's, whose numbers may be any; an empty range for one that is nowhere.
  private func indexes(_ range: NSRange?) -> Range<Int>? {
    guard let range else { return nil }
    guard range.location >= 0, range.location != NSNotFound, range.length > 0 else { return 0..<0 }
    let (end, isTooLarge) = range.location.addingReportingOverflow(range.length)
    return range.location..<(isTooLarge ? .max : end)
  }
}
