// How good an order of answers is.

internal import Foundation

/// The measures of a ranking that tests of retrieval are reported in, each a mean over all questions, from 0 to 1.
struct Relevance {
  /// Discounted gain of the first ten over that of the best possible ten; a grade is its gain, the discount the binary
  /// logarithm of one more than the place.
  private(set) var gain = 0.0
  /// Mean of the precision at each right answer, 0 for one that is not found.
  private(set) var averagePrecision = 0.0
  /// The part of right answers in the first five.
  private(set) var precisionAtFive = 0.0

  /// How many answers count for the average precision.
  static let depth = 1000

  /// Asks a store all questions, each as any of its words.
  init(of store: any SearchedStore, _ collection: RelevanceCollection) throws {
    for question in collection.questions {
      let answers = try store.best(Self.query(question.text), limit: Self.depth).map(\.number)
      let own = Self.measures(answers, question.grades)
      gain += own.gain
      averagePrecision += own.averagePrecision
      precisionAtFive += own.precisionAtFive
    }
    let count = Double(max(1, collection.questions.count))
    gain /= count
    averagePrecision /= count
    precisionAtFive /= count
  }

  /// A question as people write it, in the grammar of full text: any of its words, each once.
  static func query(_ text: String) -> String {
    var seen: Set<Substring> = []
    let words = text.lowercased().split { !$0.isLetter && !$0.isNumber }.filter { seen.insert($0).inserted }
    return words.map { "\"\($0)\"" }.joined(separator: " OR ")
  }

  /// The measures of one question.
  private static func measures(
    _ answers: [Int], _ grades: [Int: Double]
  ) -> (gain: Double, averagePrecision: Double, precisionAtFive: Double) {
    func discounted(_ gains: some Sequence<Double>) -> Double {
      gains.prefix(10).enumerated().reduce(0) { $0 + $1.element / log2(Double($1.offset + 2)) }
    }
    let best = discounted(grades.values.sorted(by: >))
    let own = discounted(answers.map { grades[$0] ?? 0 })
    var (right, precisions) = (0, 0.0)
    for (place, answer) in answers.enumerated() where grades[answer] != nil {
      right += 1
      precisions += Double(right) / Double(place + 1)
    }
    return (
      best > 0 ? own / best : 0, precisions / Double(max(1, grades.count)),
      Double(answers.prefix(5).count { grades[$0] != nil }) / 5
    )
  }
}
