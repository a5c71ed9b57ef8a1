// Property lists in their binary form, as keyed archives are written.
//
// The file begins with `bplist00`. Objects follow, each with a marker byte, then a table of their offsets, then 32
// bytes that say how long the numbers of the table are, how many objects there are, which is the first, and where the
// table is. Lists and dictionaries name their elements by their numbers.

public import Foundation

/// A binary property list, of bytes that may be anything.
///
/// Nothing is read that was not asked for, and every object once. Time and memory are in proportion to the bytes:
/// objects that lie over each other, which no writer makes, are an error once they take more bytes than there are.
public struct BinaryPropertyList {
  /// An object; others are named by their numbers.
  public enum Node {
    /// Nothing.
    case null
    /// A Boolean.
    case bool(Bool)
    /// A number with a sign.
    case integer(Int64)
    /// A number above the largest one with a sign.
    case unsigned(UInt64)
    /// A number of single or double precision.
    case real(Double)
    /// A date, in seconds since 2001.
    case date(Double)
    /// Bytes.
    case data([UInt8])
    /// A text.
    case string(String)
    /// A place in the object table of an archive.
    case uid(Int)
    /// A list of objects.
    case array([Int])
    /// Keys and values, in the order in which they stand.
    case dictionary([(key: Int, value: Int)])
  }

  private let bytes: [UInt8]
  private let offsets: (start: Int, size: Int)
  private let referenceSize: Int
  private let count: Int
  private var nodes: [Int: Node] = [:]
  /// How many bytes may still be read.
  private var budget: Int
  /// How many bytes the names of fields may still have, those that many fields share each time.
  private var nameBudget: Int
  /// The number of the outermost object.
  public let top: Int

  private static let trailerByteCount = 32

  /// The bytes that every such list begins with.
  public static let beginning = Array("bplist00".utf8)

  /// Looks at the ends of the bytes only.
  ///
  /// - Throws: ``ArchiveError`` for what is no such list.
  public init(_ data: Data) throws {
    bytes = Array(data)
    let end = bytes.count - Self.trailerByteCount
    guard end > Self.beginning.count, bytes.starts(with: Self.beginning) else {
      throw ArchiveError.damaged("it has no binary property list")
    }
    let (size, referenceSize) = (Int(bytes[end + 6]), Int(bytes[end + 7]))
    guard (1...8).contains(size), (1...8).contains(referenceSize),
      let count = Self.number(bytes, end + 8, 8), let top = Self.number(bytes, end + 16, 8),
      let start = Self.number(bytes, end + 24, 8), start >= Self.beginning.count, start < end,
      count > 0, count <= (end - start) / size, top < count
    else { throw ArchiveError.damaged("the end of its property list makes no sense") }
    offsets = (start, size)
    self.referenceSize = referenceSize
    self.count = count
    self.top = top
    budget = bytes.count
    nameBudget = bytes.count * 8 + (1 << 20)
  }

  /// A number of so many bytes; nil if it does not fit or lies outside.
  private static func number(_ bytes: [UInt8], _ offset: Int, _ size: Int) -> Int? {
    guard offset >= 0, size <= 8, offset <= bytes.count - size else { return nil }
    return Int(exactly: bytes[offset..<offset + size].reduce(0 as UInt64) { $0 << 8 | UInt64($1) })
  }

  // MARK: Objects

  /// The object of a number. O(its bytes) the first time, constant time then.
  ///
  /// - Throws: ``ArchiveError`` if there is none, or it is none.
  public mutating func node(_ number: Int) throws -> Node {
    if let known = nodes[number] { return known }
    guard number >= 0, number < count,
      let offset = Self.number(bytes, offsets.start + number * offsets.size, offsets.size),
      offset >= Self.beginning.count, offset < offsets.start
    else { throw ArchiveError.damaged("object \(number) of its property list is nowhere") }
    let node = try read(at: offset)
    nodes[number] = node
    return node
  }

  /// The elements of a dictionary by their keys; of keys that come twice the last one.
  ///
  /// - Throws: ``ArchiveError`` for a key that is no text, and once keys of many fields share too long texts.
  public mutating func fields(_ pairs: [(key: Int, value: Int)]) throws -> [String: Int] {
    var fields: [String: Int] = [:]
    for (key, value) in pairs {
      guard case .string(let name) = try node(key) else { throw ArchiveError.damaged("a key is no text") }
      nameBudget -= name.utf8.count
      guard nameBudget >= 0 else { throw ArchiveError.damaged("its fields share their names too often") }
      fields[name] = value
    }
    return fields
  }

  private mutating func read(at offset: Int) throws -> Node {
    let (kind, low) = (bytes[offset] >> 4, Int(bytes[offset] & 15))
    switch kind {
    case 0:
      _ = try take(offset, 1)
      return try constant(low)
    case 1: return try integer(offset + 1, low)
    case 2 where low == 2:
      return .real(Double(Float(bitPattern: UInt32(truncatingIfNeeded: Self.bits(try take(offset + 1, 4))))))
    case 2 where low == 3: return .real(Double(bitPattern: Self.bits(try take(offset + 1, 8))))
    case 3 where low == 3: return .date(Double(bitPattern: Self.bits(try take(offset + 1, 8))))
    case 8:
      guard let uid = Int(exactly: Self.bits(try take(offset + 1, min(low + 1, 9)))) else { break }
      return .uid(uid)
    case 4, 5, 6, 10, 13: return try extended(kind, offset + 1, low)
    default: break
    }
    throw ArchiveError.damaged("an object of its property list is of an unknown kind, \(bytes[offset])")
  }

  private func constant(_ low: Int) throws -> Node {
    switch low {
    case 0: return .null
    case 8: return .bool(false)
    case 9: return .bool(true)
    default: throw ArchiveError.damaged("an object of its property list is of an unknown kind, \(low)")
    }
  }

  /// Objects that say how long they are.
  private mutating func extended(_ kind: UInt8, _ offset: Int, _ low: Int) throws -> Node {
    var (offset, length) = (offset, low)
    if low == 15 {
      guard offset < offsets.start, bytes[offset] >> 4 == 1, bytes[offset] & 15 <= 3 else {
        throw ArchiveError.damaged("the length of an object is no number")
      }
      let size = 1 << Int(bytes[offset] & 15)
      length = Self.number(bytes, offset + 1, size) ?? .max
      offset += 1 + size
    }
    let width = kind == 6 ? 2 : kind == 10 ? referenceSize : kind == 13 ? 2 * referenceSize : 1
    let (byteCount, isTooLong) = length.multipliedReportingOverflow(by: width)
    guard !isTooLong else { throw ArchiveError.damaged("an object is longer than the archive") }
    let content = try take(offset, byteCount)
    switch kind {
    case 4: return .data(Array(content))
    case 5:
      guard content.allSatisfy({ $0 < 0x80 }) else { throw ArchiveError.damaged("a text is none") }
      return .string(String(decoding: content, as: UTF8.self))
    case 6:
      let units = stride(from: content.startIndex, to: content.endIndex, by: 2).map {
        UInt16(content[$0]) << 8 | UInt16(content[$0 + 1])
      }
      return .string(String(decoding: units, as: UTF16.self))
    default:
      let numbers = try stride(from: offset, to: offset + byteCount, by: referenceSize).map { offset in
        guard let number = Self.number(bytes, offset, referenceSize), number < count else {
          throw ArchiveError.damaged("a list names an object that is not there")
        }
        return number
      }
      return kind == 10
        ? .array(numbers) : .dictionary((0..<length).map { (numbers[$0], numbers[length + $0]) })
    }
  }

  private mutating func integer(_ offset: Int, _ low: Int) throws -> Node {
    guard low <= 4 else { throw ArchiveError.damaged("a number has too many bytes") }
    let content = try take(offset, 1 << low)
    let bits = Self.bits(content.suffix(8))
    switch low {
    case 3: return .integer(Int64(bitPattern: bits))
    // 16 bytes are for numbers above those of 8, which have a sign.
    case 4: return content.prefix(8).allSatisfy { $0 == 0 } ? .unsigned(bits) : .integer(Int64(bitPattern: bits))
    default: return .integer(Int64(truncatingIfNeeded: bits))
    }
  }

  /// The bytes at an offset, which are paid for.
  private mutating func take(_ offset: Int, _ byteCount: Int) throws -> ArraySlice<UInt8> {
    guard byteCount >= 0, offset <= offsets.start, byteCount <= offsets.start - offset else {
      throw ArchiveError.damaged("an object ends behind its property list")
    }
    budget -= byteCount
    guard budget >= 0 else { throw ArchiveError.damaged("its objects lie over each other") }
    return bytes[offset..<offset + byteCount]
  }

  private static func bits(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
}
