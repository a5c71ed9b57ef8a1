// What the tests of building share.

import Dispatch
import Foundation
import QuireDatabase
@testable import QuireFullText
import QuireTesting
import QuireText

extension FullText where Object == Memo, Metadata == Remark {
  /// The full text of the tests of building.
  ///
  /// - Parameter byteCount: the memory for postings.
  static func building(
    _ detail: PostingDetail = .positions, byteCount: Int = 1 << 16, rowByRow: Bool = false
  ) -> MemoText {
    var text = MemoText.memos(detail, tokenizer: PlainTokenizer(hasOtherForms: true))
    text.building.gatheredByteCount = byteCount
    text.building.goesRowByRow = rowByRow
    return text
  }
}

extension Database {
  /// Rows of random texts.
  func storeMemos(_ numbers: Range<Int>, _ random: inout SeededRandom) throws {
    let memos = numbers.map { _ in random.memo(400) }
    let remarks = numbers.map { _ in random.oneIn(3) ? nil : Remark(text: random.words(3, of: 50)) }
    try write { tx in
      for (place, number) in numbers.enumerated() {
        try tx[.memos].set(memos[place], metadata: remarks[place], for: "k\(number)")
      }
    }
  }

  /// All postings, by term and row, and the records of all rows.
  func contents(of text: MemoText) throws -> ([[UInt8]: PostingList], [RowID: TextRecord]) {
    try read { tx in
      let trees = try tx.access(to: text).trees()
      var found: [[UInt8]: PostingList] = [:]
      let stored = try StoredPostings(trees)
      while try stored.next() {
        for index in 0..<stored.list.count {
          found[stored.term ?? [], default: PostingList()].append(stored.list, at: index)
        }
      }
      var records: [RowID: TextRecord] = [:]
      try trees.rows.forEach(from: nil) { row, bytes in
        records[row] = try trees.record(bytes, of: row, inTree: "rows")
        return true
      }
      return (found, records)
    }
  }

  /// Changes some rows: other texts, shorter and longer ones, rows that come, go, and come again.
  func changeMemos(below count: Int, _ random: inout SeededRandom) throws {
    var generator = random
    try write { tx in
      for _ in 0..<(TestSize.isFull ? 40 : 16) {
        let key = "k\(generator.below(count + count / 8))"
        switch generator.below(5) {
        case 0: try tx[.memos].remove(key)
        case 1: try tx[.memos].set(Memo(title: generator.words(1, of: 400), body: nil, tags: []), for: key)
        case 2:
          guard var memo = try tx[.memos].get(key) else { continue }
          memo.body = (memo.body ?? "").split(separator: " ").dropLast(3).joined(separator: " ")
          try tx[.memos].set(memo, for: key)
        default: try tx[.memos].set(generator.memo(400), metadata: Remark(text: generator.words(2, of: 50)), for: key)
        }
      }
    }
    random = generator
  }
}

/// Runs `body` on a thread of its own, and waits for its end. A queue may run it on the caller's, which may be reading.
func onAnotherThread(_ body: () throws -> Void) throws {
  try withoutActuallyEscaping(body) { body in
    let work = HandedWork(body)
    Thread.detachNewThread {
      work.run()
      work.done.signal()
    }
    work.done.wait()
    try work.outcome.get()
  }
}

/// Work for another thread, which lets go of it before it says that it is done.
private final class HandedWork: @unchecked Sendable {
  // Sendable: safe because one thread has it until `done` is signalled, and the other one from then on.
  let done = DispatchSemaphore(value: 0)
  private(set) var outcome = Result<Void, any Error>.success(())
  private var body: (() throws -> Void)?

  init(_ body: @escaping () throws -> Void) { self.body = body }

  func run() {
    guard let body else { return }
    self.body = nil
    outcome = Result { try body() }
  }
}
