// The texts of a row, before and after a change.

internal import QuireDatabase

/// The texts of one row, copied, one behind the other.
struct RowTexts: Equatable {
  private var bytes: [UInt8] = []
  private var fields: [Int] = []
  /// Where each text ends in `bytes`.
  private var ends: [Int] = []

  /// The texts that `forEachText` hands over.
  ///
  /// - Throws: what `forEachText` throws.
  init(_ forEachText: ((Int, RawSpan) throws -> Void) throws -> Void) throws {
    try forEachText { field, text in
      unsafe text.withUnsafeBytes { unsafe bytes.append(contentsOf: $0) }
      fields.append(field)
      ends.append(bytes.count)
    }
  }

  /// The number of texts.
  var count: Int { ends.count }

  /// Calls `body` with each text and its field.
  func forEachText(_ body: (Int, RawSpan) throws -> Void) throws {
    for index in 0..<count { try unsafe body(fields[index], bytes.span.bytes.extracting(range(index))) }
  }

  /// Calls `body` with a part of a text.
  func withPart<Result>(_ part: Range<Int>, ofText index: Int, _ body: (RawSpan) throws -> Result) rethrows -> Result {
    let start = range(index).lowerBound
    assert(start + part.upperBound <= ends[index], "a part of a text is behind it")
    return try unsafe body(bytes.span.bytes.extracting(start + part.lowerBound..<start + part.upperBound))
  }

  private func range(_ index: Int) -> Range<Int> { (index == 0 ? 0 : ends[index - 1])..<ends[index] }

  // MARK: Differing

  private func hasSameText(_ index: Int, as other: RowTexts) -> Bool {
    let (own, others) = (range(index), other.range(index))
    guard own.count == others.count else { return false }
    return withPart(0..<own.count, ofText: index) { own in
      other.withPart(0..<others.count, ofText: index) { other in
        unsafe own.withUnsafeBytes { own in
          unsafe other.withUnsafeBytes { other in unsafe ByteOrder.areEqual(own, other) }
        }
      }
    }
  }

  /// What differs from other texts, if they are of the same fields and one of them differs.
  func edit(from old: RowTexts) -> TextEdit? {
    guard fields == old.fields else { return nil }
    var edited: Int?
    for index in 0..<count where !hasSameText(index, as: old) {
      if edited != nil { return nil }
      edited = index
    }
    guard let edited else { return nil }
    return withPart(0..<range(edited).count, ofText: edited) { new in
      old.withPart(0..<old.range(edited).count, ofText: edited) { old in
        unsafe new.withUnsafeBytes { new in
          unsafe old.withUnsafeBytes { old in unsafe TextEdit(text: edited, new: new, old: old) }
        }
      }
    }
  }
}

/// The part of one text that differs from what it was. It begins and ends in front of a space, or where the text does:
/// what stands around it is mostly cut into the same tokens in both.
struct TextEdit {
  /// Which of the texts of the row differs.
  let text: Int
  /// Where the part is in the text as it is now.
  let newRange: Range<Int>
  /// Where it was before.
  let oldRange: Range<Int>

  /// Compares two texts.
  init(text: Int, new: UnsafeRawBufferPointer, old: UnsafeRawBufferPointer) {
    let least = min(new.count, old.count)
    var start = 0
    while start < least, unsafe new[start] == old[start] { start += 1 }
    while start > 0, unsafe !(Self.mayEnd(new, start) && Self.mayEnd(old, start)) { start -= 1 }
    var rest = 0
    while rest < least - start, unsafe new[new.count - rest - 1] == old[old.count - rest - 1] { rest += 1 }
    while rest > 0, unsafe !Self.isSpace(new[new.count - rest]) { rest -= 1 }
    self.text = text
    newRange = start..<new.count - rest
    oldRange = start..<old.count - rest
  }

  /// Whether a part may end at an offset, above 0.
  private static func mayEnd(_ text: UnsafeRawBufferPointer, _ offset: Int) -> Bool {
    unsafe offset == text.count || isSpace(text[offset])
  }

  private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0d).contains(byte) }
}
