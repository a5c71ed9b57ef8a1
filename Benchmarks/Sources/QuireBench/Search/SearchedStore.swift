// What a store of texts must be able to do to be measured.

/// A text that is stored at its number in place of another one, or of none.
struct TextChange {
  let number: Int
  let text: SearchText
  let old: SearchText?
}

/// Texts that are found by their words. A text has a number, from 0.
///
/// All stores keep the texts themselves as well, as apps do, and write text and full text in one transaction, which
/// waits for the disk.
protocol SearchedStore: AnyObject {
  static var name: String { get }
  /// Whether it finds what FTS5 finds, with the same scores.
  static var findsTheSame: Bool { get }
  /// Opens a store in an empty folder.
  init(_ folder: String, cacheSize: Int) throws
  /// Stores texts in one transaction.
  func store(_ changes: ArraySlice<TextChange>) throws
  /// Makes the full text of all texts that are stored; from then on they are kept together.
  func makeFullText() throws
  /// Forgets the full text.
  func dropFullText() throws
  /// Does what the store advises to do once a full text was made.
  func optimize() throws
  /// How many texts there are.
  func count(_ question: String) throws -> Int
  /// The numbers of all, in ascending order.
  func numbers(_ question: String) throws -> [Int]
  /// The best with their scores, higher ones first.
  func best(_ question: String, limit: Int) throws -> [(number: Int, score: Double)]
  /// The bytes of the file when nothing waits in a log and all that is free was given back.
  func fileByteCount() throws -> Int
  /// The bytes that commits have added to the log since the store was opened.
  func logByteCount() -> Int
  func close() throws
}
