// Loops whose own coders step them.

import QuireDatabase
import QuireTesting
import Testing

/// Larger than what is fetched of small objects, so that room for more of them is made anew.
private struct LargeText: Sendable {
  var text: String
  var filling: (Int, Int, Int, Int, Int, Int, Int, Int) = (1, 2, 3, 4, 5, 6, 7, 8)
  var more: (Int, Int, Int, Int, Int, Int, Int, Int) = (1, 2, 3, 4, 5, 6, 7, 8)
  var most: (Int, Int, Int, Int, Int, Int, Int, Int, Int, Int, Int, Int, Int, Int, Int, Int) =
    (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16)
}

/// Lets a coder get at the walk that runs it.
private final class Door: @unchecked Sendable {
  // Sendable: safe because one thread uses it.
  var walk: AnyIterator<Row<LargeText, NoMetadata>>?
  var stepCount = 0
  var isInside = false
  var inner: [String?] = []

  func step() {
    guard !isInside else { return }
    isInside = true
    for _ in 0..<stepCount { inner.append(walk?.next()?.object.text) }
    isInside = false
  }
}

@Suite struct WalkReentryTests {
  private static func collection(_ door: Door) -> RowCollection<LargeText, NoMetadata> {
    let coder = RowCoder<LargeText>(
      encode: { Array($0.text.utf8) },
      decode: { bytes in
        door.step()
        return LargeText(text: String(decoding: bytes.withUnsafeBytes { Array($0) }, as: UTF8.self))
      })
    return RowCollection("wide", coder: coder)
  }

  @Test("A walk that its own coder steps gives its rows, and says so", arguments: [1, 2, 5])
  func aCoderStepsItsWalk(stepCount: Int) throws {
    let (db, door) = (try Database.inMemory(), Door())
    let texts = (0..<40).map { "row \(100 + $0)" }
    try db.write { tx throws in
      for text in texts { try tx[Self.collection(door)].set(LargeText(text: text), for: text) }
    }
    var outer: [String] = []
    let code = errorCode {
      try db.read { tx throws in
        door.walk = AnyIterator(tx[Self.collection(door)].rows.makeIterator())
        door.stepCount = stepCount
        while let row = door.walk?.next() { outer.append(row.object.text) }
        door.walk = nil
      }
    }
    #expect(code == .mutatedDuringIteration)
    #expect(door.inner.allSatisfy { $0 == nil } && !door.inner.isEmpty)
    #expect(Array(texts.prefix(outer.count)) == outer)
    door.stepCount = 0
    let all = try db.read { tx throws in tx[Self.collection(door)].rows.map(\.object.text) }
    #expect(all == texts)
  }
}
