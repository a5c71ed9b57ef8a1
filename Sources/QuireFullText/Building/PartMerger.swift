// The postings of all parts, term by term.

internal import QuireDatabase

/// Reads "parts", and has blocks made of what they have: of each term the postings of the first part, then those of the
/// next one.
///
/// What is stored may be anything: terms that do not ascend, pieces that are missing, postings that are none or whose
/// rows do not ascend are told as damage.
///
/// Invariant: each of `runs` is on the first piece of a term, or at its end.
struct PartMerger {
  /// A part.
  private struct Run {
    let cursor: ExtensionCursor<[UInt8]>
    let part: UInt32
    /// The term whose first piece it is on; nil at its end.
    var term: [UInt8]?
  }

  private let trees: FullTextTrees
  private var runs: [Run] = []
  private var stream = PostingStream()
  /// After so many terms somebody is told.
  private static let reportedCount = 1 << 12

  init(_ trees: FullTextTrees) throws {
    self.trees = trees
    var next: UInt32? = 0
    while let start = next {
      let cursor = try trees.parts.cursor()
      guard try cursor.seek(TermKeys.start(ofPart: start)) else { return }
      let part = try cursor.withEntry { key, _ in try parse(key).part } ?? start
      // Otherwise there would be no end.
      guard part >= start else { throw damaged(cursor.key ?? [], "parts are out of order") }
      var run = Run(cursor: cursor, part: part)
      try enter(&run)
      runs.append(run)
      next = part == .max ? nil : part + 1
    }
  }

  /// Has blocks made of all postings.
  ///
  /// - Parameter report: called now and then.
  mutating func makeBlocks(_ maker: inout BlockMaker, _ report: () throws -> Void) throws {
    var termCount = 0
    while let term = leastTerm() {
      try unsafe term.withUnsafeBytes { try unsafe maker.begin($0) }
      stream.begin()
      for number in runs.indices where runs[number].term == term {
        stream.beginRun()
        try take(number, term, &maker)
      }
      termCount += 1
      if termCount % Self.reportedCount == 0 { try report() }
    }
    try maker.end()
  }

  /// The first of the terms that parts have come to; nil behind the last one.
  private func leastTerm() -> [UInt8]? {
    var least: [UInt8]?
    for run in runs {
      guard let term = run.term else { continue }
      guard let known = least else {
        least = term
        continue
      }
      let isBelow = unsafe term.withUnsafeBytes { term in
        unsafe known.withUnsafeBytes { unsafe ByteOrder.precedes(term, $0) }
      }
      if isBelow { least = term }
    }
    return least
  }

  /// Takes in all pieces of a term that a part has, and goes to the next term.
  private mutating func take(_ index: Int, _ term: [UInt8], _ maker: inout BlockMaker) throws {
    let (cursor, part) = (runs[index].cursor, runs[index].part)
    var (number, isOfTerm): (UInt32, Bool) = (0, true)
    while isOfTerm {
      try cursor.withEntry { _, value in
        try unsafe value.withUnsafeBytes { bytes in
          var rest: UnsafeRawBufferPointer? = unsafe bytes
          try unsafe maker.add(&stream) {
            defer { unsafe rest = nil }
            return unsafe rest
          }
        }
      }
      stream.keepRest()
      number += 1
      isOfTerm = try cursor.next() && cursor.withEntry { key, _ in try isPiece(key, number, of: term, part) } == true
    }
    guard stream.isAtEnd else { throw damaged(cursor.key ?? [], "the postings of a term break the format") }
    runs[index].term = nil
    guard cursor.isOnEntry else { return }
    try enter(&runs[index])
    if let next = runs[index].term, !term.lexicographicallyPrecedes(next) {
      throw damaged(cursor.key ?? [], "terms are out of order")
    }
  }

  /// Whether a key is that of the next piece of a term; false for one of another term.
  private func isPiece(_ key: RawSpan, _ number: UInt32, of term: [UInt8], _ part: UInt32) throws -> Bool {
    let parsed = try parse(key)
    guard parsed.part == part, Array(key.copied.dropFirst(4).prefix(parsed.termByteCount)) == term else { return false }
    guard parsed.number == number else { throw damaged(key.copied, "a piece is missing") }
    return true
  }

  /// Looks what term a part has come to with the entry of its cursor.
  private func enter(_ run: inout Run) throws {
    let part = run.part
    let term = try run.cursor.withEntry { key, _ -> [UInt8]? in
      let parsed = try parse(key)
      guard parsed.part == part else { return nil }
      guard parsed.number == 0 else { throw damaged(key.copied, "the first piece is missing") }
      return Array(key.copied.dropFirst(4).prefix(parsed.termByteCount))
    }
    run.term = term ?? nil
  }

  private func parse(_ key: RawSpan) throws -> PieceKey {
    guard let parsed = TermKeys.parsePiece(key) else { throw damaged(key.copied, "the key is none") }
    return parsed
  }

  private func damaged(_ key: [UInt8], _ detail: String) -> FullTextError {
    trees.damaged(FullTextTrees.partsName, key, detail)
  }
}
