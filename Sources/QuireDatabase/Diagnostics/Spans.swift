// Write transactions and long work as spans of swift-distributed-tracing: with the trait `Tracing`. Without it nothing
// of this runs.

internal import QuireStorage

#if Tracing
  internal import Tracing

  /// What a span of the database's is to be a part of: taken where the app calls, as the work runs on another thread.
  struct SpanContext: Sendable {
    fileprivate let context: InstrumentationContext

    /// That of the running task.
    static var current: SpanContext { SpanContext(context: InstrumentationContext.current ?? .topLevel) }
  }

  /// A span of the database's.
  struct TransactionSpan: Sendable {
    static let isOn = true
    private let span: any Tracing.Span

    /// Begins a span, as a part of what runs now, or of `parent`.
    init(named name: String, _ label: String, _ site: CallSite, in parent: SpanContext = .current) {
      span = startSpan(
        name, context: parent.context, ofKind: .client, function: "", file: "\(site.fileID)", line: site.line)
      set("db.system", "quire")
      set("db.namespace", label)
    }

    /// Says something of it.
    func set(_ key: String, _ value: Int) { span.attributes[key] = value }
    func set(_ key: String, _ value: String) { span.attributes[key] = value }

    /// Runs `body` as a part of it: spans that the app begins in there belong to it.
    func run<Result>(_ body: () throws -> Result) rethrows -> Result {
      try InstrumentationContext.withValue(span.context, operation: body)
    }

    /// The same for what is awaited.
    func run<Result>(_ body: () async throws -> Result) async rethrows -> Result {
      try await InstrumentationContext.withValue(span.context) { try await body() }
    }

    /// Ends it; `describe` says what is known of it by now.
    private struct UnnamedError: Error, CustomStringConvertible {
      let type: String
      var description: String { type }
    }

    func end(_ error: (any Error)?, _ describe: (TransactionSpan) -> Void = { _ in }) {
      describe(self)
      if let error {
        // Without what a coder may quote of a value.
        span.recordError((error as? DatabaseError)?.withoutCause ?? UnnamedError(type: Diagnostics.text(error)))
        span.setStatus(SpanStatus(code: .error))
      }
      span.end()
    }
  }
#else
  /// Stands for what a span of the trait `Tracing` would be a part of.
  struct SpanContext: Sendable {
    static var current: SpanContext { SpanContext() }
  }

  /// Stands for a span of the trait `Tracing`.
  struct TransactionSpan: Sendable {
    static var isOn: Bool { false }
    init(named name: String, _ label: String, _ site: CallSite, in parent: SpanContext = .current) {}
    func set(_ key: String, _ value: Int) {}
    func set(_ key: String, _ value: String) {}
    @inline(__always) func run<Result>(_ body: () throws -> Result) rethrows -> Result { try body() }
    func run<Result>(_ body: () async throws -> Result) async rethrows -> Result { try await body() }
    func end(_ error: (any Error)?, _ describe: (TransactionSpan) -> Void = { _ in }) {}
  }
#endif
