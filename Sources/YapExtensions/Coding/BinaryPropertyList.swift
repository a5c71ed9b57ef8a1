// The entries of a binary property list, with the references that Foundation keeps to itself.

internal import Foundation

/// A binary property list, taken apart: a table of entries, in which arrays and dictionaries hold numbers of others.
struct BinaryPropertyList {
  enum Entry {
    case string(String)
    case array([Int])
    case dictionary([(key: Int, value: Int)])
    /// What archives refer to objects with.
    case reference(Int)
    /// A number, a date, data, true or false.
    case other
  }

  private(set) var entries: [Entry] = []
  /// The entry that is the list.
  let top: Int

  private let bytes: [UInt8]
  private let entrySize: Int
  private let end: Int

  /// Nil for other forms, and where a size, a place or a kind makes no sense.
  init?(_ data: Data) {
    bytes = Array(data)
    guard bytes.count >= 40, bytes.starts(with: "bplist00".utf8) else { return nil }
    end = bytes.count - 32
    let placeSize = Int(bytes[end + 6])
    entrySize = Int(bytes[end + 7])
    guard (1...8).contains(placeSize), (1...8).contains(entrySize),
      let count = Self.number(bytes[(end + 8)..<(end + 16)]), let top = Self.number(bytes[(end + 16)..<(end + 24)]),
      let table = Self.number(bytes[(end + 24)..<(end + 32)]), table <= end, top < count,
      count <= (end - table) / placeSize
    else { return nil }
    self.top = top
    for index in 0..<count {
      let start = table + index * placeSize
      guard let place = Self.number(bytes[start..<(start + placeSize)]), place < table,
        let entry = entry(at: place, count)
      else { return nil }
      entries.append(entry)
    }
  }

  /// A number of which the highest byte is first; nil if it is too large.
  private static func number(_ bytes: ArraySlice<UInt8>) -> Int? {
    var value: UInt64 = 0
    for byte in bytes {
      guard value >> 56 == 0 else { return nil }
      value = value << 8 | UInt64(byte)
    }
    return Int(exactly: value)
  }

  /// `count` bytes from a place on; nil if there are fewer.
  private func slice(_ start: Int, _ count: Int) -> ArraySlice<UInt8>? {
    guard start <= end, count <= end - start else { return nil }
    return bytes[start..<(start + count)]
  }

  private func entry(at place: Int, _ count: Int) -> Entry? {
    let (kind, low) = (bytes[place] >> 4, Int(bytes[place] & 15))
    switch kind {
    case 0: return [8, 9].contains(low) ? .other : nil
    case 1: return low <= 4 && slice(place + 1, 1 << low) != nil ? .other : nil
    case 2: return (2...3).contains(low) && slice(place + 1, 1 << low) != nil ? .other : nil
    case 3: return low == 3 && slice(place + 1, 8) != nil ? .other : nil
    case 8: return slice(place + 1, low + 1).flatMap(Self.number).map { .reference($0) }
    case 4, 5, 6, 10, 13:
      guard let (length, start) = length(at: place) else { return nil }
      return entry(kind, length, start, count)
    default: return nil
    }
  }

  private func entry(_ kind: UInt8, _ length: Int, _ start: Int, _ count: Int) -> Entry? {
    switch kind {
    case 4: return slice(start, length) == nil ? nil : .other
    case 5: return slice(start, length).map { .string(String(decoding: $0, as: UTF8.self)) }
    case 6:
      guard length <= end, let units = slice(start, 2 * length).map(Array.init) else { return nil }
      let values = (0..<length).map { UInt16(units[2 * $0]) << 8 | UInt16(units[2 * $0 + 1]) }
      return .string(String(decoding: values, as: UTF16.self))
    case 10: return numbers(start, length, count).map { .array($0) }
    default:
      guard length <= end, let all = numbers(start, 2 * length, count) else { return nil }
      return .dictionary((0..<length).map { (all[$0], all[length + $0]) })
    }
  }

  /// How long the entry at a place is, and where it begins.
  private func length(at place: Int) -> (Int, Int)? {
    let low = Int(bytes[place] & 15)
    guard low == 15 else { return (low, place + 1) }
    guard let marker = slice(place + 1, 1)?.first, marker >> 4 == 1, marker & 15 <= 3,
      let size = slice(place + 2, 1 << Int(marker & 15)), let length = Self.number(size)
    else { return nil }
    return (length, size.endIndex)
  }

  /// The numbers of other entries.
  private func numbers(_ start: Int, _ length: Int, _ count: Int) -> [Int]? {
    guard length <= end, let slice = slice(start, length * entrySize) else { return nil }
    var found: [Int] = []
    for index in 0..<length {
      let first = slice.startIndex + index * entrySize
      guard let number = Self.number(slice[first..<(first + entrySize)]), number < count else { return nil }
      found.append(number)
    }
    return found
  }
}
