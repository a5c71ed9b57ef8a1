// Dictionaries of collections: trained by themselves, kept where they pay, and there for every row that names them.

import Foundation
import QuireDatabase
import QuireStorage
import QuireTesting
import Synchronization
import Testing

@Suite struct DictionaryTests {
  private func notes(_ count: Int, seed: UInt64 = 1) -> [FileNote] {
    var random = SeededRandom(seed: seed)
    return (0..<count).map { _ in FileNote(&random) }
  }

  private func expectNotes(_ count: Int, _ db: Database) throws {
    let expected = notes(count)
    try db.read { tx throws in
      for index in 0..<count {
        let row = try #require(try tx[.notes].row("n\(index)"))
        #expect(row.object == expected[index])
        #expect(row.metadata == "note \(index)")
      }
    }
  }

  // MARK: Training

  @Test(arguments: [1, 100, 3_000]) func isTrainedByItselfAndReadAfterReopening(together: Int) throws {
    let folder = try TestFolder()
    var db = try folder.open()
    let count = TestSize.trials(3_000, divisor: 2)
    try db.storeNotes(0..<count, together: together)
    let forms = try db.forms("notes")
    let compressed = forms.filter { $0 == .compressedWithDictionary(1) }.count
    // Those stored before the training stay as they were, and hardly any after it.
    #expect((count - 1_100...count - 1_000).contains(compressed), "\(compressed)")
    try expectNotes(count, db)
    try db.verify()
    try db.close()
    db = try folder.open()
    try expectNotes(count, db)
    try db.checkInvariants()
    // What is stored after reopening uses it at once.
    try db.write { tx throws in try tx[.notes].set(notes(1)[0], for: "another") }
    #expect(
      try db.read { tx in try tx.rawRows("notes").row("another")?.objectStorage.form }
        == .compressedWithDictionary(1))
    try db.close()
  }

  @Test func savesHalf() throws {
    let db = try Database.inMemory()
    try db.storeNotes(0..<4_000)
    let sizes = try db.read { tx throws in
      tx.rawRows("notes").filter { $0.objectStorage.form != .plain }.map {
        ($0.object.count, $0.objectStorage.byteCount)
      }
    }
    let (raw, stored) = sizes.reduce((0, 0)) { ($0.0 + $1.0, $0.1 + $1.1) }
    #expect(sizes.count > 2_000 && stored * 2 < raw, "\(stored) of \(raw)")
  }

  @Test func nothingThatDoesNotPayIsKept() throws {
    let db = try Database.inMemory()
    var random = SeededRandom(seed: 3)
    try db.write { tx throws in
      for index in 0..<3_000 { try tx[.blobs].set(noise(200, &random), for: "\(index)") }
    }
    #expect(try Set(db.forms("blobs")) == [.plain])
    // Shorter than what is compressed at all: no training either.
    try db.write { tx throws in
      for index in 0..<3_000 { try tx[.blobs].set([UInt8](repeating: 7, count: 60), for: "short \(index)") }
    }
    #expect(try Set(db.forms("blobs")) == [.plain])
    let gain = try db.trainDictionary(for: .blobs)
    #expect(!gain.isKept && gain.byteCountAfter == gain.byteCountBefore)
  }

  @Test func isTheSameForTheSameHistory() throws {
    func image(_ together: Int) throws -> [[UInt8]] {
      let db = try Database.inMemory()
      try db.storeNotes(0..<2_500, together: together)
      return try db.read { tx throws in tx.rawRows("notes").map { Array("\($0.objectStorage)".utf8) } }
    }
    #expect(try image(500) == image(500))
  }

  @Test func isTrainedAgainAsTheCollectionGrows() throws {
    let db = try Database.inMemory()
    try db.storeNotes(0..<2_000)
    // Values of another kind, which the first dictionary does not help.
    var random = SeededRandom(seed: 5)
    try db.write { tx throws in
      for index in 2_000..<TestSize.trials(12_000, least: 9_000) {
        var note = FileNote(&random)
        note.comment = "Eine ganz andere Bemerkung, die in allen späteren Zeilen steht: \(random.below(99))."
        note.path = "https://beispiele.example/verzeichnis/unterverzeichnis/\(random.below(1 << 30))"
        try tx[.notes].set(note, for: "n\(index)")
      }
    }
    #expect(try db.dictionaryNumbers("notes") == [1, 2])
    try db.verify()
  }

  // MARK: Transactions

  @Test func aRolledBackTrainingLeavesNothing() throws {
    struct Undo: Error {}
    let db = try Database.inMemory()
    try db.storeNotes(0..<900)
    #expect(throws: Undo.self) {
      try db.write { tx throws in
        var random = SeededRandom(seed: 9)
        for index in 0..<3_000 { try tx[.notes].set(FileNote(&random), for: "x\(index)") }
        #expect(tx.rawRows("notes").contains { $0.objectStorage.form == .compressedWithDictionary(1) })
        throw Undo()
      }
    }
    #expect(try db.dictionaryNumbers("notes") == [])
    // The number that was not given is given to another dictionary.
    try db.write { tx throws in
      for index in 0..<3_000 {
        try tx[.blobs].set(
          Array("another text \(index % 9) that has nothing to do with notes at all, and is long".utf8), for: "\(index)"
        )
      }
    }
    try db.storeNotes(0..<3_000)
    #expect(try db.dictionaryNumbers("notes") == [1] && db.dictionaryNumbers("blobs") == [1])
    try expectNotes(3_000, db)
    try db.checkInvariants()
  }

  @Test func aSavepointTakesItsDictionaryBack() throws {
    struct Undo: Error {}
    let db = try Database.inMemory()
    try db.write { tx throws in
      for round in 0..<3 {
        _ = try? tx.savepoint {
          var random = SeededRandom(seed: UInt64(round))
          for index in 0..<2_000 {
            var note = FileNote(&random)
            note.comment =
              "Round \(round) says this in all of its rows, and something else in none: \(random.below(50))"
            try tx[.notes].set(note, for: "n\(index)")
          }
          #expect(tx.rawRows("notes").contains { $0.objectStorage.form == .compressedWithDictionary(1) })
          if round < 2 { throw Undo() }
        }
      }
      let row = try tx[.notes].get("n1999")
      #expect(row?.comment.hasPrefix("Round 2") == true)
    }
    let comments = try db.read { tx throws in tx[.notes].rows.map(\.object.comment) }
    #expect(comments.count == 2_000 && comments.allSatisfy { $0.hasPrefix("Round 2") })
    try db.checkInvariants()
  }

  @Test func oldSnapshotsKeepTheirDictionaries() throws {
    let db = try Database.inMemory()
    try db.storeNotes(0..<2_500)
    let pin = try db.pin()
    try db.trainDictionary(for: .notes)
    try db.write { tx throws in _ = try tx[.notes].removeAll() }
    try db.storeNotes(0..<2_500, seed: 8)
    let expected = notes(2_500)
    try pin.read { tx throws in
      for index in [0, 1_200, 2_499] { #expect(try tx[.notes].get("n\(index)") == expected[index]) }
    }
    try db.verify()
  }

  @Test func goesWithItsCollection() throws {
    let folder = try TestFolder()
    func entryCount() throws -> Int {
      let engine = try StorageEngine(at: folder.path, options: StorageOptions(isReadOnly: true))
      defer { try? engine.close() }
      return try engine.read { tx in try tx.tree(named: "quire.dictionaries").map { try tx.count(of: $0) } ?? 0 }
    }
    var db = try folder.open()
    try db.storeNotes(0..<2_500)
    try db.close()
    #expect(try entryCount() == 2)
    db = try folder.open()
    try db.write { tx throws in _ = try tx[.notes].removeAll() }
    try db.close()
    #expect(try entryCount() == 0)
    db = try folder.open()
    try db.storeNotes(0..<2_500)
    try expectNotes(2_500, db)
    try db.close()
    #expect(try entryCount() == 2)
  }

  // MARK: On request

  @Test func rowsFromBeforeAreBroughtIntoTheNewForm() throws {
    let folder = try TestFolder()
    var db = try folder.open()
    try db.storeNotes(0..<2_000, in: .plainNotes)
    try db.close()
    db = try folder.open()
    var told = 0
    let gain = try db.trainDictionary(for: .notes) { _ in told += 1 }
    #expect(gain.isKept && gain.byteCountAfter * 2 < gain.byteCountBefore && gain.valueCount > 500 && told > 0)
    #expect(try Set(db.forms("notes")) == [.compressedWithDictionary(1)])
    try expectNotes(2_000, db)
    // A second run has nothing to do, whatever was tried before.
    #expect(try db.rewriteRows(of: .notes).rewrittenCount == 0)
    try db.close()
    db = try folder.open()
    #expect(try db.rewriteRows(of: .plainNotes).rewrittenCount == 2_000)
    #expect(try Set(db.forms("notes")) == [.plain])
    try db.close()
  }

  @Test func mixedValuesSettleAfterOneRewrite() throws {
    let db = try Database.inMemory()
    var random = SeededRandom(seed: 4)
    try db.write { tx throws in
      for index in 0..<4_000 {
        let text = Array("A line of text that many rows have, with a number: \(random.below(1000)); and an end.".utf8)
        // Long runs of noise, so that most of it is not even tried.
        try tx[.blobs].set(index / 100 % 2 == 0 ? text : noise(random.below(500), &random), for: "\(index)")
      }
    }
    try db.trainDictionary(for: .blobs)
    #expect(try db.rewriteRows(of: .blobs).rewrittenCount == 0)
    try db.verify()
  }

  @Test func needsACollectionThatHasThem() throws {
    let db = try Database.inMemory()
    try db.storeNotes(0..<10, in: .plainNotes)
    #expect(errorCode { try db.trainDictionary(for: .plainNotes) } == .invalidOption)
    let empty = try Database.inMemory()
    #expect(try empty.trainDictionary(for: .notes).valueCount == 0)
  }

  // MARK: Elsewhere

  @Test func backupsAndReadOnlyOpeningsHaveThem() throws {
    let folder = try TestFolder()
    let db = try folder.open()
    try db.storeNotes(0..<2_500)
    let copy = folder.url.appendingPathComponent("copy.quire").path
    try db.backup(to: copy)
    try db.close()
    let reader = try Database(at: copy, options: .init(isReadOnly: true))
    try expectNotes(2_500, reader)
    try reader.verify()
    #expect(try reader.dictionaryNumbers("notes") == [1])
    #expect(errorCode { try reader.trainDictionary(for: .notes) } == .readOnly)
    try reader.close()
  }

  @Test func longValuesDoWithout() throws {
    let db = try Database.inMemory()
    try db.storeNotes(0..<2_000)
    var note = notes(1)[0]
    note.comment = String(repeating: note.comment, count: 1 << 12)
    try db.write { tx throws in try tx[.notes].set(note, for: "long") }
    #expect(try db.read { tx in try tx.rawRows("notes").row("long")?.objectStorage.form } == .compressed)
    #expect(try db.read { tx in try tx[.notes].get("long") } == note)
  }

  @Test func aDecoderMayReadOtherRows() throws {
    let db = try Database.inMemory()
    try db.storeNotes(0..<2_500)
    let transaction = Shared<QuireDatabase.ReadTransaction?>(nil)
    let expected = notes(2_500)
    let coder = RowCoder<[UInt8]>(encode: { $0 }) { bytes in
      // Another compressed row comes in between, and must not take the place of this one.
      let note = try transaction.withLock { try $0?[.notes].get("n2400") }
      #expect(note == expected[2_400])
      return bytes.withUnsafeBytes { Array($0) }
    }
    let texts = RowCollection<[UInt8], NoMetadata>("texts", coder: coder, compression: .dictionary(above: 64))
    try db.write { tx throws in
      for index in 0..<2_500 {
        try tx[texts].set(
          Array("text \(index) of texts that are much alike ".utf8) + Array(repeating: 9, count: 60), for: "\(index)")
      }
    }
    #expect(try db.dictionaryNumbers("texts") == [1])
    try db.read { tx throws in
      transaction.withLock { $0 = tx }
      defer { transaction.withLock { $0 = nil } }
      for index in 2_000..<2_010 {
        #expect(try tx[texts].get("\(index)")?.starts(with: Array("text \(index) of".utf8)) == true)
      }
    }
  }

  /// The first dictionary of each collection has the same number.
  @Test func rowsOfTwoCollectionsAreReadByTurns() throws {
    let others = RowCollection<FileNote, String>("others", compression: .dictionary(above: 64))
    let notes = notes(1_200)
    let shouted = self.notes(1_200, seed: 2).map { note in
      var note = note
      (note.path, note.comment) = (note.comment.uppercased(), note.path.uppercased())
      return note
    }
    let db = try Database.inMemory()
    try db.write { tx throws in
      _ = try tx[.notes].load(notes.enumerated().map { ("n\($0)", $1) })
      _ = try tx[others].load(shouted.enumerated().map { ("n\($0)", $1) })
    }
    #expect(try db.dictionaryNumbers("notes") == [1])
    #expect(try db.dictionaryNumbers("others") == [1])
    try db.read { tx throws in
      for index in 1_000..<1_200 {
        #expect(try tx[.notes].get("n\(index)") == notes[index])
        #expect(try tx[others].get("n\(index)") == shouted[index])
      }
    }
  }
}
