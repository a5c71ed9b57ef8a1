// Cuts texts into identifiers and their parts.

/// Cuts one text into identifiers and their parts.
struct IdentifierScanner {
  private let text: ByteView
  private let kinds: KindTable
  private var folder: WordFolder
  private var buffer: TokenBuffer
  private let purpose: TokenPurpose

  init(
    _ text: ByteView, _ buffer: TokenBuffer, _ purpose: TokenPurpose, keepingAccents: Bool, keepingCase: Bool
  ) {
    (self.text, self.buffer, self.purpose) = (text, buffer, purpose)
    folder = WordFolder(text, keepingAccents: keepingAccents, keepingCase: keepingCase)
    kinds = folder.kinds
  }

  /// What a scalar is to an identifier.
  private enum Role {
    case outside, lower, upper, other, digit
    /// Belongs to what stands in front of it.
    case attached
    /// Joins two parts, and is in neither.
    case joint
  }

  private func role(at index: Int) -> (role: Role, length: Int) {
    let byte = text[index]
    switch byte {
    case UInt8(ascii: "_"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "$"): return (.joint, 1)
    default: break
    }
    let (scalar, length) = text.scalar(at: index)
    let kind = kinds[scalar]
    switch kind.letterCase {
    case .lower: return (.lower, length)
    case .upper: return (.upper, length)
    case .digit: return (.digit, length)
    case .none: break
    }
    if byte < 0x80 { return (.outside, length) }
    if kind.continuesCharacter { return (.attached, length) }
    return (kind.isLetter ? .other : .outside, length)
  }

  /// Calls `body` with all tokens.
  mutating func scan(_ body: (RawSpan, TokenPlace) throws -> Void) throws {
    var index = 0
    while index < text.count {
      let (role, length) = role(at: index)
      switch role {
      case .outside, .attached, .joint: index += length
      case .lower, .upper, .other, .digit: index = try scanIdentifier(from: index, body)
      }
    }
  }

  /// Cuts the identifier that begins somewhere. Returns where it ends.
  private mutating func scanIdentifier(
    from start: Int, _ body: (RawSpan, TokenPlace) throws -> Void
  ) throws -> Int {
    let first = partEnd(from: start)
    let next = nextPart(from: first)
    if purpose != .document || next == nil {
      try emit(start..<first, step: 1, body)
    } else {
      let end = try emitWhole(from: start, body)
      assert(end > first, "an identifier of several parts ends with the first")
      try emit(start..<first, step: 0, body)
    }
    var (part, end) = (next, first)
    while let begin = part {
      end = partEnd(from: begin)
      try emit(begin..<end, step: 1, body)
      part = nextPart(from: end)
    }
    return end
  }

  /// Where the part ends that begins somewhere.
  private func partEnd(from start: Int) -> Int {
    var (last, length) = role(at: start)
    var end = start + length
    /// Where the last capital begins, if there is one in front of it.
    var capital: Int?
    while end < text.count {
      let (role, length) = role(at: end)
      switch (last, role) {
      case (_, .attached): break
      case (.lower, .lower), (.other, .other), (.digit, .digit): last = role
      case (.upper, .upper): capital = end
      case (.upper, .lower):
        // The last of several capitals begins the part that goes on with small letters.
        if let capital { return capital }
        last = role
      default: return end
      }
      end += length
    }
    return end
  }

  /// Where the part begins that stands behind one, with joints between them or nothing; nil if there is none.
  private func nextPart(from end: Int) -> Int? {
    var index = end
    while index < text.count {
      let (role, length) = role(at: index)
      switch role {
      case .outside, .attached: return nil
      case .joint: index += length
      case .lower, .upper, .other, .digit: return index
      }
    }
    return nil
  }

  /// Calls `body` with all parts as one. Returns where the last one ends.
  private mutating func emitWhole(
    from start: Int, _ body: (RawSpan, TokenPlace) throws -> Void
  ) throws -> Int {
    buffer.removeAll()
    var (part, end): (Int?, Int) = (start, start)
    while let begin = part {
      end = partEnd(from: begin)
      if buffer.count < TokenBuffer.limit {
        folder.append(begin..<end, to: &buffer, limit: TokenBuffer.limit - buffer.count)
      }
      part = nextPart(from: end)
    }
    if buffer.count > 0 { try buffer.lend { try body($0, TokenPlace(range: start..<end)) } }
    return end
  }

  private mutating func emit(
    _ range: Range<Int>, step: Int, _ body: (RawSpan, TokenPlace) throws -> Void
  ) throws {
    buffer.removeAll()
    folder.append(range, to: &buffer, limit: TokenBuffer.limit)
    if buffer.count > 0 { try buffer.lend { try body($0, TokenPlace(range: range, step: step)) } }
  }
}
