// Where words end, by Unicode Standard Annex 29.

/// Finds the ends of words by the rules WB1 to WB999 of Unicode 15.0.
///
/// The rules of `.standard` are those of the annex. Those of `.search` are tailored to words that are looked for:
/// 1. Colons and full stops do not join letters, and underscores and the like join nothing: in `title:blue`,
///    `example.com` and `end.Next` are two words each, and three in `to_be_found`. Full stops join digits as they do in
///    the annex.
/// 2. Apostrophes join letters if that is wanted, and Hebrew letters in any case.
/// 3. There is an end in front of each letter of the scripts that put no spaces between words, and of Hangul, as these
///    are cut in another way.
/// 4. A zero width joiner joins a picture with another picture in front of it, and with nothing else.
struct WordSegmenter {
  /// Which rules hold.
  enum Rules: Equatable {
    case standard
    case search(joinsAtApostrophes: Bool)
  }

  let text: ByteView
  let kinds: KindTable
  private let isStandard: Bool
  private let joinsAtApostrophes: Bool

  init(_ text: ByteView, _ kinds: KindTable, _ rules: Rules) {
    (self.text, self.kinds) = (text, kinds)
    isStandard = rules == .standard
    joinsAtApostrophes = rules == .search(joinsAtApostrophes: true)
  }

  /// A piece of the text between two ends.
  struct Segment {
    var end: Int
    /// The bits of the kinds of all its scalars together.
    var bits: UInt32
  }

  private static let newlines: UInt32 =
    1 << WordBreak.carriageReturn | 1 << WordBreak.lineFeed | 1 << WordBreak.newline
  /// What belongs to the scalar in front of it: rule WB4.
  private static let attached: UInt32 = 1 << WordBreak.extend | 1 << WordBreak.format | 1 << WordBreak.zeroWidthJoiner
  private static let letters: UInt32 = 1 << WordBreak.letter | 1 << WordBreak.hebrewLetter
  /// Rules WB5, WB8 to WB10, WB13a and WB13b: any two of these stay together.
  private static let joined: UInt32 = letters | 1 << WordBreak.numeric | 1 << WordBreak.extendNumLet
  /// Rules WB13, WB13a and WB13b for Katakana.
  private static let joinedKatakana: UInt32 = 1 << WordBreak.katakana | 1 << WordBreak.extendNumLet

  private func kind(at index: Int) -> (kind: ScalarKind, length: Int) {
    let (scalar, length) = text.scalar(at: index)
    return (kinds[scalar], length)
  }

  /// The class of a kind under these rules.
  @inline(__always) private func wordBreak(_ kind: ScalarKind) -> UInt32 {
    let wordBreak = kind.wordBreak
    switch wordBreak {
    case WordBreak.colon: return isStandard ? WordBreak.midLetter : WordBreak.other
    case WordBreak.extendNumLet: return isStandard ? wordBreak : WordBreak.other
    default: return wordBreak
    }
  }

  /// The piece that begins at an end of another, or at the beginning of the text.
  func segment(at start: Int) -> Segment {
    var (first, length) = kind(at: start)
    var segment = Segment(end: start + length, bits: first.bits)
    /// The class of the scalar in front, and of the one in front that is not attached to another.
    var last = wordBreak(first)
    if Self.newlines & 1 << last != 0 {
      if last == WordBreak.carriageReturn, segment.end < text.count, text[segment.end] == UInt8(ascii: "\n") {
        segment.end += 1
      }
      return segment
    }
    var left = last
    var isPairOpen = left == WordBreak.regionalIndicator
    var isPicture = first.isPictographic
    while segment.end < text.count {
      (first, length) = kind(at: segment.end)
      let next = wordBreak(first)
      let bit: UInt32 = 1 << next
      if Self.newlines & bit != 0 { break }
      if !isStandard, first.isUnspaced { break }
      if Self.attached & bit != 0 {
        segment.end += length
        segment.bits |= first.bits
        last = next
        continue
      }
      let isPictureOfSequence =
        last == WordBreak.zeroWidthJoiner && first.isPictographic && (isPicture || isStandard)
      let areSpaces = last == WordBreak.space && next == WordBreak.space
      if isPictureOfSequence || areSpaces || Self.joins(left, bit) {
        // Nothing stands between them.
      } else if left == WordBreak.regionalIndicator, next == left, isPairOpen {
        isPairOpen = false
      } else if let jump = jump(over: next, length, from: left, at: segment.end) {
        segment.end = jump.end
        segment.bits |= jump.bits
        (left, last, isPicture) = (jump.last, jump.last, false)
        continue
      } else {
        break
      }
      segment.end += length
      segment.bits |= first.bits
      (left, last, isPicture) = (next, next, first.isPictographic)
    }
    return segment
  }

  @inline(__always) private static func joins(_ left: UInt32, _ bit: UInt32) -> Bool {
    joined & 1 << left != 0 && joined & bit != 0 || joinedKatakana & 1 << left != 0 && joinedKatakana & bit != 0
  }

  /// Rules WB6 to WB7c, WB11 and WB12: what stands in the middle of a word, together with what goes on behind it.
  private func jump(
    over middle: UInt32, _ length: Int, from left: UInt32, at start: Int
  ) -> (end: Int, bits: UInt32, last: UInt32)? {
    let wanted: UInt32
    switch middle {
    case WordBreak.midLetter where Self.letters & 1 << left != 0: wanted = Self.letters
    case WordBreak.midNumLet, WordBreak.singleQuote:
      guard Self.letters & 1 << left != 0, joinsLetters(middle, behind: left, at: start) else { fallthrough }
      wanted = Self.letters
    case WordBreak.midNum:
      guard left == WordBreak.numeric else { return nil }
      wanted = 1 << WordBreak.numeric
    case WordBreak.doubleQuote where left == WordBreak.hebrewLetter: wanted = 1 << WordBreak.hebrewLetter
    default: return nil
    }
    var (end, bits) = (start + length, UInt32(0))
    while end < text.count {
      let (kind, length) = kind(at: end)
      let next = wordBreak(kind)
      if !isStandard, kind.isUnspaced { break }
      end += length
      bits |= kind.bits
      if Self.attached & 1 << next != 0 { continue }
      if wanted & 1 << next != 0 { return (end, bits, next) }
      break
    }
    // A quotation mark stays with a Hebrew letter in front of it.
    if middle == WordBreak.singleQuote, left == WordBreak.hebrewLetter { return (start + length, 0, middle) }
    return nil
  }

  /// Whether an apostrophe or a full stop may join letters.
  private func joinsLetters(_ middle: UInt32, behind left: UInt32, at index: Int) -> Bool {
    if isStandard { return true }
    let isApostrophe = middle == WordBreak.singleQuote || Self.isApostrophe(text.scalar(at: index).value)
    return isApostrophe && (joinsAtApostrophes || left == WordBreak.hebrewLetter)
  }

  /// Quotation marks that stand for apostrophes, and the apostrophe of full width; the other scalars of `midNumLet` are
  /// full stops.
  private static func isApostrophe(_ scalar: UInt32) -> Bool {
    scalar == 0x2018 || scalar == 0x2019 || scalar == 0xff07
  }
}
