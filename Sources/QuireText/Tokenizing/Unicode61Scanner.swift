// Cuts texts as FTS5's unicode61 does.

/// The arguments of FTS5's unicode61.
final class Unicode61Settings: Hashable, Sendable {
  let removeDiacritics: DiacriticRemoval
  /// What each byte of ASCII becomes; 0 for those that are in no token.
  let ascii: [UInt8]
  /// The same for all bytes: 255 for those of other scalars.
  let table: [UInt8]
  /// The other scalars whose being in tokens is turned round, in ascending order.
  let exceptions: [UInt32]

  init(_ removeDiacritics: DiacriticRemoval, _ tokenCharacters: String, _ separators: String) {
    self.removeDiacritics = removeDiacritics
    var ascii = (0..<128 as Range<UInt8>).map(Self.plain)
    let kinds = UnicodeTables.shared.kinds
    var exceptions: Set<UInt32> = []
    for (characters, areTokens) in [(tokenCharacters, true), (separators, false)] {
      for scalar in characters.unicodeScalars.map(\.value) {
        if scalar < 0x80 {
          let isCapital = (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(UInt8(scalar))
          ascii[Int(scalar)] = areTokens ? UInt8(scalar) | (isCapital ? 0x20 : 0) : 0
        } else if kinds[scalar].isToken61 != areTokens, !kinds[scalar].isDiacritic61 {
          exceptions.insert(scalar)
        }
      }
    }
    (self.ascii, self.exceptions) = (ascii, exceptions.sorted())
    table = ascii + [UInt8](repeating: .max, count: 128)
  }

  /// What a byte of ASCII becomes unless somebody says otherwise.
  private static func plain(_ byte: UInt8) -> UInt8 {
    switch byte {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): byte | 0x20
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): byte
    default: 0
    }
  }

  /// What tells these arguments from others that give other tokens.
  var identity: String {
    let bytes = ascii.indices.filter { (ascii[$0] == 0) != (Self.plain(UInt8($0)) == 0) }.map { UInt32($0) }
    let turned = (bytes + exceptions).map { String($0, radix: 16) }.joined(separator: " ")
    return "sqlite-3.40,diacritics-\(removeDiacritics.rawValue)" + (turned.isEmpty ? "" : ",turned \(turned)")
  }

  static func == (left: Unicode61Settings, right: Unicode61Settings) -> Bool {
    left.removeDiacritics == right.removeDiacritics && left.ascii == right.ascii && left.exceptions == right.exceptions
  }

  func hash(into hasher: inout Hasher) {
    hasher.combine(removeDiacritics)
    hasher.combine(ascii)
    hasher.combine(exceptions)
  }

  func isException(_ scalar: UInt32) -> Bool {
    var (low, high) = (0, exceptions.count)
    while low < high {
      let middle = (low + high) / 2
      if exceptions[middle] < scalar { low = middle + 1 } else { high = middle }
    }
    return low < exceptions.count && exceptions[low] == scalar
  }
}

/// Cuts one text as FTS5's unicode61 does.
struct Unicode61Scanner {
  private let text: ByteView
  private let kinds: KindTable
  private let folding: FoldTable
  private let settings: Unicode61Settings
  private let hasExceptions: Bool
  private var buffer: TokenBuffer

  init(_ text: ByteView, _ buffer: TokenBuffer, _ settings: Unicode61Settings) {
    (self.text, self.buffer, self.settings) = (text, buffer, settings)
    kinds = UnicodeTables.shared.kinds
    folding = FoldTable.unicode61[settings.removeDiacritics.rawValue]
    hasExceptions = !settings.exceptions.isEmpty
  }

  /// Calls `body` with all tokens.
  mutating func scan(_ body: (RawSpan, TokenPlace) throws -> Void) throws {
    try unsafe settings.table.withUnsafeBufferPointer { try unsafe scan($0, body) }
  }

  private mutating func scan(
    _ table: UnsafeBufferPointer<UInt8>, _ body: (RawSpan, TokenPlace) throws -> Void
  ) throws {
    var index = 0
    while index < text.count {
      let byte = text[index]
      if byte < 0x80 {
        if unsafe table[Int(byte)] == 0 {
          index += 1
          continue
        }
      } else {
        let (scalar, length) = text.scalar(at: index)
        if !isToken(scalar, kinds[scalar]) {
          index += length
          continue
        }
      }
      let start = index
      index = unsafe scanToken(from: start, table)
      assert(index > start, "a token has no scalar")
      if buffer.count > 0 { try buffer.lend { try body($0, TokenPlace(range: start..<index)) } }
    }
  }

  @inline(__always) private func isToken(_ scalar: UInt32, _ kind: ScalarKind) -> Bool {
    hasExceptions ? kind.isToken61 != settings.isException(scalar) : kind.isToken61
  }

  /// Puts the token together that begins somewhere. Returns where it ends.
  @inline(__always)
  private mutating func scanToken(from start: Int, _ table: UnsafeBufferPointer<UInt8>) -> Int {
    buffer.removeAll()
    let end = unsafe buffer.append(text, from: start, by: table)
    return unsafe end == text.count || table[Int(text[end])] == 0 ? end : scanRest(from: end, table)
  }

  /// Goes on with a token that has other scalars than those of ASCII, or is long. Returns where it ends.
  @inline(never) private mutating func scanRest(from start: Int, _ table: UnsafeBufferPointer<UInt8>) -> Int {
    var index = start
    while index < text.count {
      let byte = text[index]
      if byte < 0x80 {
        let folded = unsafe table[Int(byte)]
        if folded == 0 { break }
        if buffer.count < TokenBuffer.limit { buffer.append(folded) }
        index += 1
        continue
      }
      let (scalar, length) = text.scalar(at: index)
      let kind = kinds[scalar]
      guard isToken(scalar, kind) || kind.isDiacritic61 else { break }
      if buffer.count < TokenBuffer.limit { append(scalar, kind, index..<index + length) }
      index += length
    }
    buffer.cut(to: TokenBuffer.limit)
    return index
  }

  @inline(__always) private mutating func append(_ scalar: UInt32, _ kind: ScalarKind, _ range: Range<Int>) {
    if kind.isFolded61, let place = folding.place(of: scalar) {
      buffer.append(folding, at: place)
    } else if range.count == 1 {
      buffer.append(scalar: scalar)
    } else {
      buffer.append(text, range)
    }
  }
}
