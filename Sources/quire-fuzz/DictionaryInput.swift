// Inputs that are a dictionary and a value that was compressed with it.
//
// The first byte says what the rest is: below 128 two bytes of the dictionary's length, the dictionary and the stored
// value; else entries of the trees that dictionaries and rows are in.

import QuireDatabase
import QuireTesting

/// Uses inputs as dictionaries and compressed values.
enum DictionaryInput {
  private static let entries = EntryInput(base: .dictionaries)

  /// Decompresses the value, or uses the entries.
  static func run(_ bytes: [UInt8]) throws {
    guard let first = bytes.first else { return }
    let rest = Array(bytes.dropFirst())
    if first >= 128 { return try entries.run(rest) }
    guard rest.count >= 2 else { return }
    let count = min(Int(rest[0]) | Int(rest[1]) << 8, rest.count - 2)
    try decompress(Array(rest[(2 + count)...]), Array(rest[2..<(2 + count)]))
  }

  private static func decompress(_ stored: [UInt8], _ dictionary: [UInt8]) throws {
    let made = try step("a dictionary") { try CompressionDictionary(number: 1, dictionary.span.bytes) }
    func find(_ number: UInt32) throws -> CompressionDictionary {
      guard number == 1, let made else { throw CompressionError.missingDictionary(number) }
      return made
    }
    let value = try step("decompressing") { try ValueCompression.decode(stored.span.bytes, dictionary: find) }
    let room = DecodingRoom()
    for _ in 0..<2 {
      let lent = try step("decompressing in place") {
        try ValueCompression.withDecoded(stored.span.bytes, room, dictionary: find) { Array($0) }
      }
      try demand(lent == value, "two ways to decompress differ")
    }
    guard let value else { return }
    let again = try step("compressing", isSound: true) {
      try ValueCompression.encode(value.span.bytes, .lz4(above: 64))
    }
    let other = try again.map { again in
      try step("decompressing again", isSound: true) {
        try ValueCompression.decode(again.span.bytes, dictionary: find)
      }
    }
    try demand(other == value, "a value comes back as another one")
  }

  /// A value in each of its forms, and entries.
  static func seeds() throws -> [(name: String, bytes: [UInt8])] {
    let dictionary = Array("the quick brown fox jumps over the lazy dog, and so does the next one".utf8)
    let text = Array("the lazy dog jumps over the quick brown fox, and so does the next one too".utf8)
    let head = [0, UInt8(dictionary.count), 0] + dictionary
    let repeated = (0..<8).flatMap { _ in text }
    let match: [UInt8] = [2, 1, 25, 0x0f, UInt8(dictionary.count), 0, 1, 0x50] + Array("12345".utf8)
    return [
      ("plain", head + [0] + text),
      ("lz4", head + (try ValueCompression.encode(repeated.span.bytes, .lz4(above: 64)))),
      ("match", head + match),
    ] + (try entries.seeds().map { ("entries-\($0.name)", [128] + $0.bytes) })
  }

  /// Changes entries one by one, and other values anywhere.
  static func mutate(_ bytes: [UInt8], _ mutation: inout Mutation) -> [UInt8] {
    guard let first = bytes.first, first >= 128 else { return mutation.whole(bytes) }
    return Array(([first] + entries.mutate(Array(bytes.dropFirst()), &mutation)).prefix(mutation.limit))
  }
}
