// Conditions inside of conditions, and optionals inside of optionals.

import Foundation
import QuireDatabase
import QuireIndexes
import QuireTesting
import Testing

private struct Part: SynthesizedCodable, Sendable, Equatable {
  var size: Int
  var weight: Int??
}

extension RowCollection where Object == Part, Metadata == NoMetadata {
  fileprivate static var parts: Self { .init("parts") }
}

extension Indexes where Object == Part, Metadata == NoMetadata {
  fileprivate static var parts: Self {
    Indexes("parts.indexes", over: .parts) {
      Index("size", \.size)
      Index("weight", \.weight)
    }
  }
}

private struct Box: SynthesizedCodable, Sendable, Equatable {
  struct Label: Codable, Sendable, Equatable { var text: String }
  var label: Label?
}

extension RowCollection where Object == Box, Metadata == NoMetadata {
  fileprivate static var boxes: Self { .init("boxes") }
}

extension Indexes where Object == Box, Metadata == NoMetadata {
  fileprivate static var boxes: Self { Indexes("boxes.indexes", over: .boxes) { Index("label", \.label?.text) } }
}

@Suite struct NestedConditionTests {
  @Test("A field of an optional record is named by its path", arguments: [true, false])
  func optionalRecords(isIndexed: Bool) throws {
    let db = try Database.inMemory()
    if isIndexed { try db.register(Indexes.boxes) }
    try db.write { tx throws in
      for number in 0..<30 {
        let label = number % 3 == 0 ? nil : Box.Label(text: "\(number % 3)")
        try tx[.boxes].set(Box(label: label), for: "\(number)")
      }
    }
    try db.read { tx throws in
      let found = tx[.boxes].find { $0[\.label?.text] == "1" }
      #expect(try found.count == 10 && found.objects.allSatisfy { $0.label?.text == "1" })
      if isIndexed { #expect(try found.requireIndex().keys.count == 10) }
      #expect(try tx[.boxes].find { $0[\.label?.text] == nil }.count == 10)
    }
  }

  private func fill(_ db: Database) throws {
    let weights: [Int??] = [nil, .some(nil), 1, 2]
    try db.write { tx in
      for number in 0..<40 { try tx[.parts].set(Part(size: number, weight: weights[number % 4]), for: "\(number)") }
    }
  }

  @Test("A nil in something is found as what is read of it", arguments: [true, false])
  func nilsInside(isBuiltFromRows: Bool) throws {
    let db = try Database.inMemory()
    if !isBuiltFromRows { try db.register(Indexes.parts) }
    try fill(db)
    if isBuiltFromRows { try db.register(Indexes.parts) }
    try db.read { tx throws in
      let all = try tx[.parts].find(.all).all
      let none = all.filter { $0.object.weight == nil }.map(\.key)
      #expect(try none.count == 20 && tx[.parts].find { $0.weight == nil }.requireIndex().keys == none)
      #expect(try tx[.parts].find { $0.weight != nil }.keys.count == 20)
      #expect(try tx[.parts].find { $0.weight == .some(nil) }.isEmpty)
      #expect(try tx[.parts].find { $0.weight < 2 }.count == 10)
      #expect(try tx[.parts].find(.all).groupCounts(by: \.weight).map(\.count) == [20, 10, 10])
      try tx.access(to: Indexes.parts).verify()
    }
    try db.close()
  }

  @Test("Alternatives may stand far inside of each other, on threads with little stack", arguments: [true, false])
  func deepConditions(isIndexed: Bool) throws {
    let db = try Database.inMemory()
    if isIndexed { try db.register(Indexes.parts) }
    try fill(db)
    let done = DispatchSemaphore(value: 0)
    let thread = Thread {
      defer { done.signal() }
      do {
        try db.read { tx throws in
          let found = tx[.parts].find { part in
            (0..<120).reduce(part.size == 3) { condition, number in
              (condition || part.size == 2 * number) && part.size != number + 10
            }
          }
          let expected = (0..<40).filter { size in
            (0..<120).reduce(size == 3) { ($0 || size == 2 * $1) && size != $1 + 10 }
          }
          #expect(try found.objects.map(\.size) == expected && !expected.isEmpty)
          #expect(try found.count == expected.count)
        }
      } catch { Issue.record("\(error)") }
    }
    thread.stackSize = 512 << 10
    thread.start()
    done.wait()
    try db.close()
  }
}
