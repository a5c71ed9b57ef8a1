// The bytes of feeds: what is written is read, and what nobody has written is refused.

import QuireTesting
import Testing

@testable import QuireDatabase
@testable import QuireStorage

@Suite("Bytes of change feeds") struct FeedFormatTests {
  private let songs = FeedCollection(id: CollectionID(7), name: "songs", form: 0x0102_0304_0506_0708)
  private let texts = FeedCollection(id: CollectionID(300), name: "", form: nil)

  private func body() -> FeedBodyBuilder {
    var body = FeedBodyBuilder()
    func row(_ kind: ChangeLog.Kind, _ number: Int64, _ key: String, new: [UInt8]? = nil, old: [UInt8]? = nil) {
      Array(key.utf8).withUnsafeBytes {
        body.append(kind.code, RowID(number), $0, hasNew: new != nil, hasOld: old != nil)
      }
      for value in [new, old] {
        guard let value else { continue }
        value.withUnsafeBytes { bytes in body.append(metadata: number == 5 ? bytes : nil, object: bytes) }
      }
    }
    body.select(songs)
    row(.inserted, 1, "key", new: [0, 1, 2])
    row(.changed(.metadata), 5, "", new: [0], old: [0, 9, 9])
    body.select(texts)
    row(.removed, .max - 1, String(repeating: "long ", count: 60))
    body.appendCleared()
    body.select(songs)
    body.appendCleared()
    body.appendClearedAll()
    body.appendRenamed(from: "songs", to: "tunes")
    return body
  }

  private func texts(_ bytes: [UInt8]) throws -> [String] {
    var texts: [String] = []
    let count = try FeedBody(bytes: bytes).forEach { item in
      switch item {
      case .row(let kind, let collection, let rowID, let key, let new, let old):
        let values = [new, old].map { halves in
          halves.map { "\(bytes[$0.object].count) \($0.metadata != nil)" } ?? "-"
        }
        texts.append("\(kind) \(collection.name) \(rowID.rawValue) \(key.utf8.count) \(values)")
      case .cleared(let collection): texts.append("cleared \(collection.id.rawValue)")
      case .clearedAll: texts.append("all")
      case .renamed(let old, let new): texts.append("\(old) -> \(new)")
      }
    }
    #expect(count == texts.count)
    return texts
  }

  @Test func bodiesComeBack() throws {
    let body = body()
    #expect(body.changeCount == 7)
    #expect(
      try texts(body.bytes) == [
        "inserted songs 1 3 [\"3 false\", \"-\"]",
        "changed(QuireDatabase.RowHalves(rawValue: 2)) songs 5 0 [\"1 true\", \"3 true\"]",
        "removed  9223372036854775806 300 [\"-\", \"-\"]", "cleared 300", "cleared 7", "all", "songs -> tunes",
      ])
  }

  @Test("The bytes are those that files have: never change what this expects")
  func formStays() throws {
    var body = FeedBodyBuilder()
    body.select(FeedCollection(id: CollectionID(300), name: "s", form: nil))
    Array("k".utf8).withUnsafeBytes { body.append(1, RowID(1), $0) }
    body.select(FeedCollection(id: CollectionID(7), name: "tt", form: 0x0807_0605_0403_0201))
    Array("ab".utf8).withUnsafeBytes { body.append(5, RowID(300), $0, hasNew: true) }
    [UInt8](arrayLiteral: 0, 9).withUnsafeBytes { body.append(metadata: nil, object: $0) }
    body.appendCleared()
    body.select(FeedCollection(id: CollectionID(300), name: "s", form: nil))
    body.appendRenamed(from: "x", to: "s")
    body.appendClearedAll()
    #expect(
      body.bytes == [
        64, 0xac, 2, 1, 115, 1, 1, 1, 107, 65, 7, 2, 116, 116, 1, 2, 3, 4, 5, 6, 7, 8, 21, 0xac, 2, 2, 97, 98, 0, 2, 0,
        9,
        67, 66, 0, 69, 1, 120, 1, 115, 68,
      ])
    var entry = [UInt8](repeating: 0, count: FeedEntryHead.byteCount) + [0] + body.bytes
    let head = FeedEntryHead(
      endsCommit: true, changeCount: 5, previousChain: 1, run: 2, time: 3, bytes: 4, changes: 5, commits: 6)
    head.write(to: &entry)
    let words: [UInt64] = [1 | 1 << 8 | 5 << 32, 1, 2, 3, 4, 5, 6]
    #expect(entry.prefix(56) == ArraySlice(words.flatMap(\.littleEndianBytes)))
    #expect(FeedKeys.entry(0x0102, 3) == [0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 3])
    let read = try FeedEntry(9, 0, entry.span.bytes)
    #expect(read.body.bytes == body.bytes && read.head.commits == 6 && read.mark.time == 3)
  }

  @Test("A change that is taken back leaves nothing, a collection that it has named neither")
  func truncates() throws {
    var body = FeedBodyBuilder()
    body.select(songs)
    body.appendCleared()
    let (place, bytes) = (body.place, body.bytes)
    body.select(texts)
    body.appendCleared()
    body.truncate(to: place)
    #expect(body.bytes == bytes && body.changeCount == 1)
    body.select(texts)
    body.appendCleared()
    #expect(try texts(body.bytes) == ["cleared 7", "cleared 300"])
  }

  @Test("Whatever the bytes are, reading them ends, with all of them read or an error")
  func hostileBodies() throws {
    let whole = body().bytes
    var random = SeededRandom(seed: 5)
    var refused = 0
    for trial in 0..<TestSize.trials(20_000) {
      var bytes = whole
      switch trial % 3 {
      case 0: bytes.removeLast(random.below(bytes.count))
      case 1: for _ in 0...random.below(4) { bytes[random.below(bytes.count)] = UInt8(random.below(256)) }
      default: bytes = (0..<random.below(60)).map { _ in UInt8(random.below(256)) }
      }
      do {
        _ = try FeedBody(bytes: bytes).forEach { item in
          guard case .row(_, _, _, _, let new, let old) = item else { return }
          for halves in [new, old].compactMap({ $0 }) {
            #expect(halves.object.upperBound <= bytes.count && halves.metadata?.upperBound ?? 0 <= bytes.count)
          }
        }
      } catch let error as DatabaseError {
        #expect(error.code == .damagedRow)
        refused += 1
      }
    }
    #expect(refused > 100)
  }

  @Test func entriesComeBackAndDamagedOnesDoNot() throws {
    let engine = try StorageEngine.inMemory()
    let tree = try engine.write { tx in try tx.createTree("quire.feed.x", keys: .bytes) }
    let start = FeedMark(
      position: FeedPosition(csn: 1, part: 0, chain: 42), time: 1000, bytes: 0, changes: 0, commits: 0)
    let body = body()
    let marks = try engine.write { tx in
      // A clock that was set back.
      var writer = FeedPartWriter(tree, tx.csn, run: 3, time: 7, start, FeedSpace(engine))
      try writer.write(body, endsCommit: false, compresses: true, tx)
      let first = writer.newest
      try writer.write(body, endsCommit: true, compresses: false, tx)
      try tx.put([1], for: FeedKeys.record, in: tree)
      return [first, writer.newest]
    }
    #expect(marks.map(\.position.part) == [0, 1] && marks.map(\.time) == [1000, 1000] && marks[1].commits == 1)
    let bytes = try engine.read { tx in
      var reader = FeedTree(try tx.cursor(tree))
      #expect(try reader.seek(behind: start.position))
      var chain = start.position.chain
      for mark in marks {
        let entry = try reader.entry()
        #expect(entry.mark == mark && entry.head.previousChain == chain && entry.head.run == 3)
        #expect(entry.body.bytes == body.bytes && entry.head.changeCount == 7)
        chain = mark.position.chain
        #expect(try reader.next() == (mark != marks[1]))
      }
      #expect(try reader.newest() == marks[1] && reader.oldest() == marks[0])
      #expect(marks[1].changes == 14 && marks[1].bytes > marks[0].bytes)
      return try #require(try tx.value(for: FeedKeys.entry(2, 0), in: tree))
    }
    var random = SeededRandom(seed: 1)
    for _ in 0..<TestSize.trials(4000) {
      var damaged = bytes
      let place = random.below(damaged.count)
      damaged[place] ^= UInt8(1 << random.below(8))
      let entry = try? FeedEntry(2, 0, damaged.span.bytes)
      #expect(entry?.mark.position.chain != marks[0].position.chain, "byte \(place)")
      _ = try? entry?.forEach { _ in }
      _ = try? FeedEntry(2, 0, damaged.span.bytes.extracting(first: place)).forEach { _ in }
    }
  }

  @Test func recordsComeBackAndDamagedOnesAreRefused() throws {
    let feed = ChangeFeed("x", over: .only(["b", "a"]), keeping: .bothValues)
    var record = FeedRecord(feed, DatabaseID(high: 1, low: 2), epoch: 3, csn: 4, time: 5)
    record.lacksBeginning = true
    record.released = FeedPosition(csn: 9, part: 1, chain: 0)
    record.renamed = 8
    #expect(try FeedRecord(record.bytes) == record)
    #expect(record.fits(feed, DatabaseID(high: 1, low: 2)) && !record.fits(feed, DatabaseID(high: 2, low: 2)))
    #expect(!record.fits(ChangeFeed("x", over: .only(["a"]), keeping: .bothValues), record.lineage))
    #expect(!record.fits(ChangeFeed("x", over: .only(["a", "b"])), record.lineage))
    // All collections, and those that a closure knows: the forms that files have.
    for (filter, form) in [(CollectionFilter.all, 0 as UInt8), (.matching { _ in true }, 3)] {
      let record = FeedRecord(ChangeFeed("x", over: filter), record.lineage, epoch: 3, csn: 4, time: 5)
      #expect(try record.bytes.suffix(5) == [form, 0, 0, 0, 0] && FeedRecord(record.bytes) == record)
      #expect(record.fits(ChangeFeed("x"), record.lineage) == (form == 0))
    }
    for count in 0..<record.bytes.count {
      #expect(errorCode { _ = try FeedRecord(Array(record.bytes[..<count])) } == .damagedRow)
    }
    var random = SeededRandom(seed: 2)
    for _ in 0..<TestSize.trials(4000) {
      var bytes = record.bytes
      bytes[random.below(bytes.count)] ^= UInt8(1 << random.below(8))
      _ = try? FeedRecord(bytes)
    }
  }

  @Test func cursorsComeBackAndMangledOnesDoNot() throws {
    let cursor = FeedCursor(
      DatabaseID(high: 0x0123_4567_89ab_cdef, low: .max), 77, FeedPosition(csn: 12, part: 3, chain: 99))
    #expect(FeedCursor(bytes: cursor.bytes) == cursor && FeedCursor(cursor.description) == cursor)
    #expect(cursor.bytes.count == FeedCursor.byteCount && cursor.csn.rawValue == 12 && cursor.part == 3)
    let seen = FeedPosition(csn: 15, part: 1, chain: 7)
    let catching = [(5, nil), (0, seen), (5, seen)].map { told, seen in
      FeedCursor(cursor.lineage, cursor.epoch, cursor.position, toldCount: told, seen: seen)
    }
    #expect(!cursor.isCatchingUp && catching.allSatisfy(\.isCatchingUp))
    for cursor in [cursor] + catching {
      #expect(FeedCursor(bytes: cursor.bytes) == cursor && FeedCursor(cursor.description) == cursor)
      #expect(cursor.bytes.count == (cursor.isCatchingUp ? FeedCursor.longestByteCount : FeedCursor.byteCount))
      for bit in 0..<8 * cursor.bytes.count {
        var bytes = cursor.bytes
        bytes[bit / 8] ^= UInt8(1 << (bit % 8))
        #expect(FeedCursor(bytes: bytes) == nil)
      }
      let position = BootstrapPosition(cursor, isComplete: false, [9])
      #expect(BootstrapPosition(bytes: position.bytes) == position)
    }
    // The form that files of consumers have: never change what this expects.
    #expect(
      cursor.description.hasPrefix(
        "010123456789abcdefffffffffffffffff000000000000004d000000000000000c000000030000000000000063"))
    #expect(FeedCursor("") == nil && FeedCursor(String(repeating: "g", count: 98)) == nil)
    let position = BootstrapPosition(cursor, isComplete: false, [1, 2, 3])
    #expect(BootstrapPosition(position.description) == position && BootstrapPosition(cursor.description) == nil)
    let whole = BootstrapPosition(cursor, isComplete: true, [])
    #expect(BootstrapPosition(bytes: whole.bytes) == whole && BootstrapPosition(bytes: whole.bytes.dropLast()) == nil)
  }
}
