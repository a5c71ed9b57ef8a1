// Fields of rows that a type does not read, which the next update of the row would drop for ever.

internal import Logging
internal import QuireStorage

/// What to do about a stored field that the type of today does not read: one that was renamed or removed, or that a
/// newer program has added.
public enum UnknownFields: Hashable, Sendable {
  /// Tell the logger of it as a warning, once for each type and field. The row is read without the field.
  case report
  /// Throw `decodingFailed`, with the collection, the key and the field, when the row is read.
  case refuse
  /// Read the row without the field.
  case ignore
}

/// A field that was found in a row.
struct UnknownField: Hashable {
  let type: String
  let name: String
}

/// What one coder's memory knows of unknown fields.
final class FieldWatch {
  @exclusivity(unchecked) var policy = UnknownFields.ignore
  /// Those that were found and not told of yet.
  private(set) var found: [UnknownField] = []
  private var known: Set<Place> = []

  private struct Place: Hashable {
    let type: ObjectIdentifier
    let number: UInt32
  }

  /// Notes a field of a type.
  func note(_ type: Any.Type, _ number: UInt32, _ name: String) {
    if known.insert(Place(type: ObjectIdentifier(type), number: number)).inserted {
      found.append(UnknownField(type: "\(type)", name: name))
    }
  }

  /// Those that were found; forgets them, but not that they are known.
  func take() -> [UnknownField] {
    if found.isEmpty { return [] }
    defer { found = [] }
    return found
  }

  /// The numbers of fields mean others now.
  func forget() { if !known.isEmpty { known = [] } }
}

/// Which fields of a record a type has asked for.
struct AskedFields {
  /// The numbers below 128, a bit each.
  private var low: UInt64 = 0
  private var high: UInt64 = 0
  /// Whether a field was read that was not the next one, so that others may have been passed over.
  var hasJumped = false

  @inline(__always) mutating func note(_ number: UInt32) {
    let bit: UInt64 = 1 &<< UInt64(number & 63)
    if number < 64 { low |= bit } else { high |= bit }
  }

  /// The type has seen all keys, or is coded as another one, which is asked itself.
  mutating func noteAll() { (low, high) = (.max, .max) }

  /// What the one or the other has asked for.
  mutating func formUnion(_ other: AskedFields) { (low, high) = (low | other.low, high | other.high) }

  /// Whether a field of this number was asked for; of those whose numbers are too large that is not known.
  func contains(_ number: UInt32) -> Bool {
    if number == 0 || number > 127 { return true }
    return (number < 64 ? low : high) >> UInt64(number & 63) & 1 == 1
  }
}

extension RowDecoder {
  /// Looks for fields that `type` has not asked for, after it has passed over some of the innermost value. O(fields).
  @inline(never) func checkFields(_ type: Any.Type) throws {
    guard unsafe watch.policy != .ignore else { return }
    var offset = unsafe head.start
    while unsafe offset < head.end {
      let (number, end) = try numberOfField(at: offset)
      if unsafe !asked.contains(number), let name = names.name(number) {
        if unsafe watch.policy == .refuse { throw unread(name, type) }
        watch.note(type, number, name)
      }
      offset = end
    }
  }

  private func unread(_ name: String, _ type: Any.Type) -> DecodingError {
    let message = """
      The row has a field «\(name)» that \(type) does not read: storing it again would drop the field. If it was \
      renamed, use `upgrading(from:)` or coding keys.
      """
    return .dataCorrupted(.init(codingPath: codingPath, debugDescription: message))
  }
}

extension Diagnostics {
  /// Tells of fields that rows of a collection have, and their type does not, once about each.
  func tell(_ fields: [UnknownField], collection: String, half: String) {
    guard let logger else { return }
    for field in fields where isFirst("\(collection)\u{0}\(half)\u{0}\(field.type)\u{0}\(field.name)") {
      CallOut.check()
      logger.warning(
        """
        Rows have a field that their type does not read: the next update of such a row drops it. If it was renamed, \
        use `upgrading(from:)` or coding keys.
        """,
        metadata: [
          "database": "\(label)", "collection": "\(collection)", "half": "\(half)", "type": "\(field.type)",
          "field": "\(field.name)",
        ])
    }
  }
}
