// Random lives of a collection with a full text, which is compared with the rows after each commit.

import Foundation
import QuireDatabase
@testable import QuireFullText
import QuireTesting
import Testing

@Suite("Full text beside its rows")
struct FullTextModelTests {
  @Test(
    "What is stored is what the rows say, whatever happens", .enabled(if: TestSize.hasSlowTests, "slow"),
    arguments: PostingDetail.allCases, modelSeeds(12))
  func agreesWithRows(detail: PostingDetail, seed: UInt64) throws {
    var life = MemoLife(seed, detail)
    do { try life.run(modelSteps(120)) } catch {
      Issue.record("QUIRE_TEXT_SEED=\(seed) swift test --filter FullTextModelTests, \(detail): \(life.last): \(error)")
    }
  }
}

/// The seed of a long run, if one is asked for.
func modelSeeds(_ count: Int) -> [UInt64] {
  if let seed = environmentNumber("QUIRE_TEXT_SEED") { return [UInt64(seed)] }
  return Array(1...UInt64(TestSize.trials(count, divisor: 4)))
}

/// How many steps a random life has.
func modelSteps(_ count: Int) -> Int {
  environmentNumber("QUIRE_TEXT_STEPS") ?? TestSize.trials(count, divisor: 12)
}

/// A life of a collection with a full text.
struct MemoLife {
  private var random: SeededRandom
  private let text: MemoText
  private let database: Database
  private let vocabulary: Int
  private var model: [String: Memo] = [:]
  private(set) var last = ""

  init(_ seed: UInt64, _ detail: PostingDetail) {
    random = SeededRandom(seed: seed)
    vocabulary = [5, 40, 400][Int(seed % 3)]
    text = .memos(detail, tokenizer: PlainTokenizer(hasOtherForms: seed % 2 == 0))
    do { database = try Database.inMemory() } catch { preconditionFailure("\(error)") }
  }

  mutating func run(_ count: Int) throws {
    // Some rows are there before it is registered.
    var random = random
    try database.write { tx in
      for number in 0..<random.below(300) { try tx[.memos].set(random.memo(vocabulary), for: "b\(number)") }
    }
    try database.register(text)
    try database.verify(text)
    for step in 0..<count {
      last = "step \(step)"
      try change(&random)
      try database.verify(text)
    }
  }

  private struct Abort: Error {}

  private func change(_ random: inout SeededRandom) throws {
    let fails = random.oneIn(8)
    var inner = random.fork()
    do {
      try database.write { tx in
        try changeRows(tx, &inner, depth: 0)
        if inner.oneIn(4) { try tx.access(to: text).reader.verify() }
        if inner.oneIn(3) { try changeRows(tx, &inner, depth: 0) }
        if inner.oneIn(10) { try tx.access(to: text).merge(count: inner.below(200)) }
        if fails { throw Abort() }
      }
    } catch is Abort {}
  }

  private func changeRows(_ tx: WriteTransaction, _ random: inout SeededRandom, depth: Int) throws {
    let count = random.oneIn(6) ? random.below(150) : random.below(8)
    for _ in 0..<count { try changeRow(tx, &random) }
    try tx.access(to: text).upkeep.checkInvariants()
    if random.oneIn(40) { try tx[.memos].removeAll() }
    guard depth < 3, random.oneIn(3) else { return }
    let fails = random.oneIn(2)
    do {
      try tx.savepoint {
        try changeRows(tx, &random, depth: depth + 1)
        if random.oneIn(4) { try tx.access(to: text).reader.verify() }
        if random.oneIn(30) { try tx[.memos].removeAll() }
        if fails { throw Abort() }
      }
    } catch is Abort {}
    try changeRows(tx, &random, depth: depth + 1)
  }

  private func changeRow(_ tx: WriteTransaction, _ random: inout SeededRandom) throws {
    let key = random.oneIn(4) ? "b\(random.below(300))" : "k\(random.below(200))"
    switch random.below(10) {
    case 0...2: try tx[.memos].set(random.memo(vocabulary), for: key)
    case 3, 4:
      try tx[.memos].set(
        random.memo(vocabulary), metadata: Remark(text: random.words(random.below(5), of: vocabulary)), for: key)
    case 5: try tx[.memos].remove(key)
    case 6:
      if random.oneIn(2) { try tx[.memos].remove(key) } else { try tx[.memos].remove([key, "k1", "b2", "k3", "none"]) }
    case 7:
      let remark = random.oneIn(3) ? nil : Remark(text: random.words(random.below(5), of: vocabulary))
      try tx[.memos].replaceMetadata(remark, for: key)
    default:
      // One word comes or goes.
      guard var memo = try tx[.memos].get(key) else { return }
      var words = (memo.body ?? "").split(separator: " ").map(String.init)
      let place = random.below(words.count + 1)
      if place < words.count, random.oneIn(2) {
        words.remove(at: place)
      } else {
        words.insert(random.word(of: vocabulary), at: place)
      }
      memo.body = words.joined(separator: " ")
      try tx[.memos].set(memo, for: key)
    }
  }
}
