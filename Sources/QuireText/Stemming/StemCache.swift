// Stems of words that were stemmed before.

internal import Synchronization

/// What short words became, the latest of those that share a place.
///
/// Texts have few words that are not among their last thousands, and finding one here takes a fraction of stemming it.
/// It belongs to whoever holds the `Loan` of it, and serves one text after the other.
@safe final class StemCache: @unchecked Sendable {
  // This is safe because a cache is either on its shelf, where nobody uses it, or with the one loan that took it.

  /// Bytes of a word, 16 at most, the first one lowest, with zeros behind the last one.
  struct Word: Equatable {
    var low: UInt64
    var high: UInt64
    var count: UInt8
    /// Longer words are not kept.
    static let limit = 16
  }

  private struct Entry {
    var word = Word(low: 0, high: 0, count: 0)
    var stem = Word(low: 0, high: 0, count: 0)
  }

  private let entries: UnsafeMutablePointer<Entry>
  private static let countBits: UInt64 = 12

  fileprivate init() {
    unsafe entries = .allocate(capacity: 1 << Int(Self.countBits))
    unsafe entries.initialize(repeating: Entry(), count: 1 << Int(Self.countBits))
  }

  deinit { unsafe entries.deallocate() }

  @inline(__always) private static func place(of word: Word) -> Int {
    let mixed = (word.low ^ (word.high &* 0xe703_7ed1_a0b4_28db)) &* 0x9e37_79b9_7f4a_7c15
    return Int(truncatingIfNeeded: mixed >> (64 - countBits))
  }

  /// What a word became; nil if that is not known. A word has a byte at least.
  @inline(__always) func stem(of word: Word) -> Word? {
    let entry = unsafe entries + Self.place(of: word)
    return unsafe entry.pointee.word == word ? entry.pointee.stem : nil
  }

  /// Keeps what a word has become.
  func keep(_ stem: Word, of word: Word) {
    assert(word.count > 0, "no word becomes anything")
    unsafe entries[Self.place(of: word)] = Entry(word: word, stem: stem)
  }

  /// A cache while it is used, which goes back to its shelf at the end.
  final class Loan: Sendable {
    let cache: StemCache
    private let shelf: Shelf

    /// - Parameter keepingAccents: whether stems have their accents; those of the others are apart.
    init(_ language: StemmingLanguage, keepingAccents: Bool) {
      shelf = Shelf.shelf(of: language, keepingAccents)
      cache = shelf.take()
    }

    deinit { shelf.put(cache) }
  }

  /// Where the caches of one language are that nobody uses: one at the most.
  private final class Shelf: Sendable {
    private static let english = (Shelf(), Shelf())
    private static let german = (Shelf(), Shelf())
    private static let french = (Shelf(), Shelf())
    private static let spanish = (Shelf(), Shelf())
    private static let italian = (Shelf(), Shelf())

    static func shelf(of language: StemmingLanguage, _ keepsAccents: Bool) -> Shelf {
      let (plain, accented) =
        switch language {
        case .english: english
        case .german: german
        case .french: french
        case .spanish: spanish
        case .italian: italian
        }
      return keepsAccents ? accented : plain
    }

    private let spare = Mutex<StemCache?>(nil)

    func take() -> StemCache { spare.withLock { $0.take() } ?? StemCache() }

    func put(_ cache: StemCache) { spare.withLock { $0 = cache } }
  }
}
