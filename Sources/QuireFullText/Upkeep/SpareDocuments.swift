// Memory for documents that is used again.

internal import Synchronization

/// Documents that nobody uses, with the memory that they have allocated: most transactions change few rows, and each
/// needs such memory for a moment. Every thread may call it at any time.
enum SpareDocuments {
  private static let kept = Mutex<[DocumentTerms]>([])
  /// So many are kept at the most.
  private static let count = 8

  /// A document with whatever it held.
  static func take() -> DocumentTerms {
    kept.withLock { $0.popLast() } ?? DocumentTerms()
  }

  /// Keeps a document, unless it has become large.
  static func give(_ document: consuming DocumentTerms) {
    guard document.isSmall else { return }
    let document = document
    kept.withLock { kept in if kept.count < count { kept.append(document) } }
  }
}
