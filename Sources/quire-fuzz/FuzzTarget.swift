// What can be fuzzed: how bytes become a database, or a part of one, and what is done with it.

import QuireStorage
import QuireTesting

/// A way to use the bytes of an input.
enum FuzzTarget: String, CaseIterable {
  /// Both meta pages of a small database.
  case meta
  /// The records of a log behind a data file that is whole.
  case log
  /// A whole data file.
  case file
  /// The bytes of one value of a row, or entries of the trees that rows are in.
  case row
  /// A dictionary and a value compressed with it, or entries of the trees that both are in.
  case dictionary
  /// Entries of all trees of a database with indexes, a view and a relationship.
  case index

  /// Does with an input all there is to do with it.
  ///
  /// - Throws: `Finding`.
  func run(_ bytes: [UInt8]) throws {
    switch self {
    case .meta, .log, .file: try FileInput(target: self).run(bytes)
    case .row: try RowInput.run(bytes)
    case .dictionary: try DictionaryInput.run(bytes)
    case .index: try EntryInput(base: .extensions).run(bytes)
    }
  }

  /// Inputs to begin with, with names.
  func seeds() throws -> [(name: String, bytes: [UInt8])] {
    switch self {
    case .meta, .log, .file: try FileInput(target: self).seeds()
    case .row: try RowInput.seeds()
    case .dictionary: try DictionaryInput.seeds()
    case .index: try EntryInput(base: .extensions).seeds()
    }
  }

  /// Changes an input.
  func mutate(_ bytes: [UInt8], _ mutation: inout Mutation) -> [UInt8] {
    switch self {
    case .meta, .log, .file: FileInput(target: self).mutate(bytes, &mutation)
    case .row: RowInput.mutate(bytes, &mutation)
    case .dictionary: DictionaryInput.mutate(bytes, &mutation)
    case .index: EntryInput(base: .extensions).mutate(bytes, &mutation)
    }
  }
}

/// Random choices that come from an input: the same for the same bytes.
func choices(of bytes: [UInt8]) -> SeededRandom {
  let hash = bytes.withUnsafeBytes { buffer in
    buffer.baseAddress.map { XXH3.hash($0, count: buffer.count, seed: 1) } ?? 0
  }
  return SeededRandom(seed: hash)
}
