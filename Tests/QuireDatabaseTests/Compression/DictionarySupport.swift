// Collections whose rows have much in common, and ways to look at how they are stored.

import QuireDatabase
import QuireTesting

/// What an app keeps about a file: short, and much the same from one to the next.
struct FileNote: Codable, Sendable, Equatable {
  var path: String
  var kind: String
  var owner: String
  var byteCount: Int
  var comment: String

  private static let folders = ["/usr/share/doc/", "/usr/lib/x86_64-linux-gnu/", "/home/mina/Pictures/2026/"]
  private static let kinds = ["image/jpeg", "text/plain; charset=utf-8", "application/x-sharedlib"]

  /// A note like many others.
  init(_ random: inout SeededRandom) {
    let number = random.below(1_000_000)
    path = Self.folders[random.below(3)] + "item-\(number).data"
    kind = Self.kinds[random.below(3)]
    owner = ["root", "mina", "www-data"][random.below(3)]
    byteCount = random.below(1 << 20)
    comment = "This file was indexed by the crawler on its run number \(number % 7) and has not changed since."
  }
}

/// A value that nothing can compress.
func noise(_ count: Int, _ random: inout SeededRandom) -> [UInt8] {
  var bytes: [UInt8] = []
  while bytes.count < count { withUnsafeBytes(of: random.next()) { bytes.append(contentsOf: $0) } }
  return Array(bytes.prefix(count))
}

extension RowCollection where Object == FileNote, Metadata == String {
  /// Notes whose values are compressed with a dictionary.
  static var notes: Self { .init("notes", compression: .dictionary(above: 64)) }
  /// The same ones without.
  static var plainNotes: Self { .init("notes", compression: .none) }
}

extension RowCollection where Object == [UInt8], Metadata == NoMetadata {
  /// Bytes of any kind, with dictionaries.
  static var blobs: Self { .init("blobs", coder: .bytes, compression: .dictionary(above: 64)) }
}

extension Database {
  /// Stores notes under numbered keys, in transactions of so many.
  func storeNotes(
    _ range: Range<Int>, in collection: RowCollection<FileNote, String> = .notes, together: Int = 500, seed: UInt64 = 1
  ) throws {
    var random = SeededRandom(seed: seed)
    for start in stride(from: range.lowerBound, to: range.upperBound, by: together) {
      try write { tx throws in
        for index in start..<min(start + together, range.upperBound) {
          try tx[collection].set(FileNote(&random), metadata: "note \(index)", for: "n\(index)")
        }
      }
    }
  }

  /// How the objects of a collection are stored, in the order of their keys.
  func forms(_ collection: String) throws -> [RawRow.Storage.Form] {
    try read { tx throws in tx.rawRows(collection).map(\.objectStorage.form) }
  }

  /// The numbers of the dictionaries that objects name.
  func dictionaryNumbers(_ collection: String) throws -> Set<Int> {
    Set(
      try forms(collection).compactMap { form in
        if case .compressedWithDictionary(let number) = form { number } else { nil }
      })
  }
}
