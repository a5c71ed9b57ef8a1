// Which fields of a full text a part of a search means.

/// Some fields of a full text, by name, as `"title"` or `["title", "lyrics"]` say.
///
/// Names are those of the declaration; where none is written like that, the case of ASCII letters does not matter.
public struct FieldChoice: Hashable, Sendable, ExpressibleByStringLiteral, ExpressibleByArrayLiteral {
  /// The names.
  public var names: Set<String>
  /// Whether all other fields are meant.
  public var isComplement: Bool

  /// Chooses the fields with these names, or all others.
  public init(_ names: Set<String>, isComplement: Bool = false) {
    (self.names, self.isComplement) = (names, isComplement)
  }

  /// Chooses one field.
  public init(stringLiteral name: String) { self.init([name]) }

  /// Chooses some fields.
  public init(arrayLiteral names: String...) { self.init(Set(names)) }

  /// All fields but these.
  public static func except(_ names: String...) -> FieldChoice { FieldChoice(Set(names), isComplement: true) }

  /// The fields that are chosen here and in another choice. O(names).
  public func intersection(_ other: FieldChoice) -> FieldChoice {
    switch (isComplement, other.isComplement) {
    case (false, false): FieldChoice(names.filter { other.names(contain: $0) })
    case (false, true): FieldChoice(names.filter { !other.names(contain: $0) })
    case (true, false): FieldChoice(other.names.filter { !self.names(contain: $0) })
    case (true, true): FieldChoice(names.union(other.names.filter { !self.names(contain: $0) }), isComplement: true)
    }
  }

  private func names(contain name: String) -> Bool {
    names.contains(name) || names.contains { Self.isSame($0, name) }
  }

  /// The numbers of the chosen fields as bits, the first field the lowest.
  ///
  /// - Parameter fields: the names of all fields, at most 64.
  /// - Throws: `FullTextError.unknownField` for a name that is none of these.
  func mask(in fields: [String]) throws(FullTextError) -> UInt64 {
    assert(fields.count <= 64, "masks have 64 bits")
    var mask: UInt64 = 0
    for name in names.sorted() {
      guard let number = Self.number(of: name, in: fields) else {
        throw .unknownField(name: name, fields: fields)
      }
      mask |= 1 << UInt64(number)
    }
    let all: UInt64 = fields.count == 64 ? .max : (1 << UInt64(fields.count)) - 1
    return isComplement ? all & ~mask : mask
  }

  /// The number of the field that a name means: the one with exactly this name, else the first one with it in other
  /// case.
  static func number(of name: String, in fields: [String]) -> Int? {
    fields.firstIndex(of: name) ?? fields.firstIndex { isSame($0, name) }
  }

  /// Whether two names are the same but for the case of ASCII letters.
  private static func isSame(_ left: String, _ right: String) -> Bool {
    left.utf8.elementsEqual(right.utf8) { lowercased($0) == lowercased($1) }
  }

  private static func lowercased(_ byte: UInt8) -> UInt8 { (0x41...0x5a).contains(byte) ? byte | 0x20 : byte }
}
