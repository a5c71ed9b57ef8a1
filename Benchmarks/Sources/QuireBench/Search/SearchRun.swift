// One store's turn in the table of full text.

internal import Foundation

/// What one store does in one run: texts stored, full text made of them, questions, changes, and the questions again.
final class SearchRun {
  private let store: any SearchedStore
  private let name: String
  private let texts: SearchTexts
  private let plan: SearchPlan
  /// What was changed, by number; all others are as `texts` has them.
  private var changed: [Int: SearchText] = [:]
  /// How many texts there are.
  private var count: Int
  private(set) var table: StoreTable
  /// By row, something that has to be the same for all stores.
  private(set) var answers: [String: Double] = [:]

  /// Begins a turn in an empty folder; figures go to `table`.
  init(
    _ type: any SearchedStore.Type, _ texts: SearchTexts, _ plan: SearchPlan, _ folder: String, _ table: StoreTable
  ) throws {
    (self.texts, self.plan, self.table) = (texts, plan, table)
    (name, count) = (type.name, 0)
    store = try type.init(folder, cacheSize: plan.cacheSize)
  }

  /// Measures everything and closes the store.
  func measure() throws {
    try fill()
    try build()
    if plan.profiledRow == nil { for (row, time) in try ask("") { table.add(row, "µs", name, time) } }
    if plan.commits > 0 { try age() }
    try store.close()
  }

  /// The text of a number as it is stored.
  private func current(_ number: Int) -> SearchText? { number < count ? changed[number] ?? texts[number] : nil }

  /// A text in the place of the one that is there.
  private func change(_ number: Int, to text: SearchText) -> TextChange {
    defer { changed[number] = text }
    return TextChange(number: number, text: text, old: current(number))
  }

  /// Stores all texts, and measures what a row without full text costs in a commit of its own.
  private func fill() throws {
    for first in stride(from: 0, to: plan.count, by: 1000) {
      let numbers = first..<min(plan.count, first + 1000)
      try store.store(numbers.map { TextChange(number: $0, text: texts[$0], old: nil) }[...])
    }
    count = plan.count
    table.add("commit-row", "µs", name, try timeOneByOne("commit-row", changes(plan.singleCommits, seed: 1)).time)
  }

  /// Changes of one word in so many texts all over.
  private func changes(_ number: Int, seed: Int) -> [TextChange] {
    (0..<number).map { index in
      let place = (seed &* 7919 &+ index &* 104_729) % count
      return change(place, to: (current(place) ?? texts[place]).changed(seed &* 100 &+ index))
    }
  }

  /// So many texts more.
  private func additions(_ number: Int) -> [TextChange] {
    defer { count += number }
    return (count..<count + number).map { TextChange(number: $0, text: texts[$0], old: nil) }
  }

  /// The microseconds of the processor and the bytes of the log that a commit takes.
  private func timeOneByOne(_ row: String, _ changes: [TextChange]) throws -> (time: Double, bytes: Double) {
    let (start, bytes) = (Clocks.process(), store.logByteCount())
    try showProfiler(row) { for index in changes.indices { try store.store(changes[index...index]) } }
    let number = Double(changes.count)
    return (Double(Clocks.process() - start) / number / 1000, Double(store.logByteCount() - bytes) / number)
  }

  /// Does what a row measures, where a profiler sees it if it asked for that row.
  private func showProfiler(_ row: String, _ body: () throws -> Void) rethrows {
    if row == plan.profiledRow { try measuredSection(body) } else { try body() }
  }

  /// Makes the full text of all rows.
  private func build() throws {
    let bare = try store.fileByteCount()
    let start = Clocks.process()
    let bytes = try mostAnonymousBytes { try showProfiler("build") { try store.makeFullText() } }
    table.add("build", "µs/text", name, Double(Clocks.process() - start) / Double(count) / 1000)
    table.add("build-memory", "MiB more than before", name, Double(bytes) / 1_048_576)
    let merging = Clocks.process()
    try store.optimize()
    table.add("build-merged", "µs/text", name, Double(Clocks.process() - start) / Double(count) / 1000)
    table.add("optimize", "s", name, Double(Clocks.process() - merging) / 1e9)
    table.add("size", "MB", name, Double(try store.fileByteCount() - bare) / 1e6)
  }

  /// Asks all questions; returns the microseconds of each row and notes the answers.
  private func ask(_ prefix: String) throws -> [(row: String, time: Double)] {
    var times: [(row: String, time: Double)] = []
    for group in SearchQuestions.all {
      var own: [Double] = []
      var sum = 0.0
      for question in group.questions {
        let (time, answer) = try lowest { try self.answer(group.answer, question) }
        own.append(time)
        sum += answer
      }
      answers[prefix + group.row] = sum
      times.append((group.row, median(own)))
      if group.tellsSlowest { times.append(("\(group.row), slowest", own.max() ?? 0)) }
    }
    return times
  }

  private func answer(_ kind: SearchQuestions.Answer, _ question: String) throws -> Double {
    switch kind {
    case .count: Double(try store.count(question))
    case .numbers: Double(try store.numbers(question).count)
    case .best: try store.best(question, limit: 10).reduce(0) { $0 + $1.score }
    }
  }

  /// The lowest time on a core of several calls, in microseconds. What takes long is called less often.
  private func lowest(_ body: () throws -> Double) throws -> (time: Double, answer: Double) {
    let answer = try body()
    var (best, sum) = (Int.max, 0)
    for _ in 0..<plan.repeats where sum < 1_000_000_000 {
      let start = Clocks.thread()
      try expect(try body() == answer, "\(name) answers otherwise when it is asked again")
      let time = Clocks.thread() - start
      (best, sum) = (min(best, time), sum + time)
    }
    return (Double(best) / 1000, answer)
  }

  /// Measures changes, makes many of them, and compares the questions with those to a full text that is made anew.
  private func age() throws {
    let new = try timeOneByOne("commit-new", additions(plan.singleCommits))
    table.add("commit-new", "µs", name, new.time)
    table.add("commit-word", "µs", name, try timeOneByOne("commit-word", changes(plan.singleCommits, seed: 2)).time)
    table.add("log-new", "bytes", name, new.bytes)
    for (row, changes) in [("new-of-1000", additions(1000)), ("word-of-1000", changes(1000, seed: 3))] {
      let start = Clocks.process()
      try showProfiler(row) { try store.store(changes[...]) }
      table.add(row, "µs", name, Double(Clocks.process() - start) / 1_000_000)
    }
    try showProfiler("commits", commitMany)
    guard plan.profiledRow == nil else { return }
    let aged = try ask("aged ")
    try store.dropFullText()
    try store.makeFullText()
    try store.optimize()
    let renewed = try ask("renewed ")
    for (old, new) in zip(aged, renewed) where !old.row.hasSuffix("slowest") {
      table.add("aged-\(old.row)", "× of one made anew", name, old.time / new.time)
      let (one, other) = (answers["aged \(old.row)"] ?? 0, answers["renewed \(old.row)"] ?? 0)
      try expect(abs(one - other) <= 1e-6 * max(1, abs(one)), "\(name), \(old.row): \(one), made anew \(other)")
    }
  }

  /// Commits of one text each: half change a word, a quarter all words, a quarter are new.
  private func commitMany() throws {
    let (start, bytes) = (Clocks.process(), store.logByteCount())
    for number in 0..<plan.commits {
      let place = number &* 7907 % count
      let changes =
        switch number % 4 {
        case 0: additions(1)
        case 1: [change(place, to: texts[plan.count + plan.commits + number])]
        default: [change(place, to: (current(place) ?? texts[place]).changed(number))]
        }
      try store.store(changes[...])
    }
    let number = Double(plan.commits)
    table.add("commits", "µs", name, Double(Clocks.process() - start) / number / 1000)
    table.add("log-commits", "bytes", name, Double(store.logByteCount() - bytes) / number)
  }
}
