// Full text beside SQLite's FTS5: the same texts, questions and changes, in turns.

internal import ArgumentParser
internal import Foundation
internal import QuireTesting

/// Measures full text.
struct SearchBench: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "search", abstract: "Measures full text beside SQLite's FTS5, over packages of Debian.")

  @Argument(help: "The texts, as Benchmarks/make-search-texts writes them.")
  var texts: String
  @Option(help: "Texts; those of the file if absent, and more are made of their sentences.")
  var count: Int?
  @Option(help: "Alternating runs.")
  var runs = 3
  @Option(help: "Commits of one text each before questions are asked again; 0 leaves all changes out.")
  var commits = 100_000
  @Option(help: "Mebibytes of pages kept in memory.")
  var cache = 64
  @Option(help: "Some of \(SearchBench.all.map { $0.name }.joined(separator: ", ")); quire and sqlite if absent.")
  var stores: String?
  @Option(help: "The row of changes that a profiler is to see, by its name in the table; nothing is asked then.")
  var profile: String?
  @Option(help: "Keeps the files below this folder; a temporary one, removed afterwards, if absent.")
  var directory: String?
  @Option(help: "Writes the table to this file as Markdown.")
  var markdown: String?
  @Option(help: "Writes the texts to this file, for compare-search, and measures nothing.")
  var write: String?

  /// All that can be measured.
  static var all: [any SearchedStore.Type] {
    var stores: [any SearchedStore.Type] = [QuireSearchedStore.self, QuireStemmedSearchedStore.self]
    #if PEER_SQLITE
      stores += [SQLiteSearchedStore.self, PorterSearchedStore.self]
    #endif
    return stores
  }

  func validate() throws {
    guard runs >= 1, commits >= 0, cache >= 1, count ?? 1 >= 1 else {
      throw ValidationError("--runs, --cache and --count must be positive.")
    }
  }

  func run() throws {
    let texts = try SearchTexts(path: texts)
    if let write { return try texts.write(0..<(count ?? texts.originals.count), to: write) }
    var plan = SearchPlan(count: count ?? texts.originals.count, commits: commits, cacheSize: cache << 20)
    plan.profiledRow = profile
    let usual = Self.all.filter { $0.findsTheSame }
    let stores = try self.stores.map { try chosen($0, among: Self.all, named: { $0.name }) } ?? usual
    try withWorkDirectory(directory) { folder in
      let machine = Machine(directory: folder)
      let table = try measureSearch(stores, texts, plan, runs: runs, in: folder)
      table.print()
      guard let markdown else { return }
      let text = """
        \(machine.heading(count: plan.count, runs: runs))

        \(table.markdown(stores.map { $0.name }))
        """
      try text.write(toFile: markdown, atomically: true, encoding: .utf8)
    }
  }
}

/// Sizes of the table of full text.
struct SearchPlan {
  var count: Int
  /// Commits of one text each before questions are asked again.
  var commits: Int
  var cacheSize = 64 << 20
  /// Commits of one text each that are timed.
  var singleCommits = 500
  /// How often a question is asked, at the most.
  var repeats = 15
  /// The row that a profiler is to see; nil if all are measured.
  var profiledRow: String?
}

/// Measures stores in turns, so many runs, and compares their answers.
func measureSearch(
  _ stores: [any SearchedStore.Type], _ texts: SearchTexts, _ plan: SearchPlan, runs: Int, in folder: String
) throws -> StoreTable {
  var table = StoreTable()
  for run in 0..<runs {
    var answers: [String: [Double]] = [:]
    for store in run % 2 == 0 ? stores : stores.reversed() {
      let place = "\(folder)/search-\(run)-\(store.name)"
      try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(atPath: place) }
      let turn = try SearchRun(store, texts, plan, place, table)
      try turn.measure()
      table = turn.table
      guard store.findsTheSame else { continue }
      for (row, answer) in turn.answers { answers[row, default: []].append(answer) }
    }
    for (row, all) in answers {
      let agree = all.allSatisfy { abs($0 - all[0]) <= 1e-6 * max(1, abs(all[0])) }
      try expect(agree, "\(row): the stores answered \(all)")
    }
  }
  return table
}

/// Measures some hundred texts: all stores answer the same, and what was written of texts and of a collection reads
/// back.
func checkSearch(in folder: String) throws {
  let (path, stores) = ("\(folder)/texts.tsv", SearchBench.all.filter { $0.findsTheSame })
  var random = SeededRandom(seed: 1)
  let words = SearchQuestions.all.flatMap(\.questions).flatMap { $0.split { !$0.isLetter } }.map { $0.lowercased() }
  func some(_ count: Int) -> String { (0..<count).map { _ in words[random.below(words.count)] }.joined(separator: " ") }
  let lines = (1...300).map { number in
    [
      "\(number)", "\(some(1))-\(number)", "\(some(4)) no\(number)",
      "\(some(9)). \(some(12)). no\(number) \(some(5))",
    ].joined(separator: "\t")
  }
  try lines.joined(separator: "\n").write(toFile: path, atomically: true, encoding: .utf8)
  let texts = try SearchTexts(path: path)
  try texts.write(0..<400, to: "\(folder)/more.tsv")
  let more = try SearchTexts(path: "\(folder)/more.tsv")
  try expect((0..<400).allSatisfy { texts[$0] == more[$0] }, "written texts are others")
  var plan = SearchPlan(count: 400, commits: 60)
  (plan.singleCommits, plan.repeats) = (10, 1)
  let table = try measureSearch(stores, texts, plan, runs: 1, in: folder)
  try expect(table.isSane && table.count > SearchQuestions.all.count * 2, "the table of full text lacks rows")
  let collection = try RelevanceCollection(packages: texts, questions: 20)
  try collection.write(to: "\(folder)/collection")
  let read = try RelevanceCollection(folder: "\(folder)/collection")
  try expect(read.questions.map(\.grades) == collection.questions.map(\.grades), "written judgements are others")
  for store in stores {
    let relevance = try RelevanceBench.measure(store, read, "\(folder)/relevance-\(store.name)")
    try expect(relevance.gain > 0.9 && relevance.gain <= 1, "\(store.name): a gain of \(relevance.gain)")
  }
  print("search: \(table.count) rows of \(stores.map { $0.name }.joined(separator: ", ")): in order")
}
