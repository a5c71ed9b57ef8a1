// What feeders report with the trait Metrics.

#if Postgres && Metrics
  import MetricsTestKit
  import QuireDatabase
  import Testing

  @testable import QuirePostgres

  @Suite("What feeders report") struct SinkMetricsTests {
    @Test("Rows, batches, refused rows and retries are counted, each feed by itself")
    func counts() throws {
      let backend = TestMetrics()
      let (first, second) = (SinkMetrics(feed: "a", factory: backend), SinkMetrics(feed: "b", factory: backend))
      let refusal = PostgresError(.notReachable, "away")
      let row = RejectedRow(collection: "c", key: "k", csn: CSN(1), reason: "", sqlState: nil)
      for event: PostgresEvent in [
        .connected(csn: CSN(1), state: .consistent), .batch(csn: CSN(2), rows: 7, state: .catchingUp), .rejected(row),
        .retry(refusal, pause: .zero), .retry(refusal, pause: .zero), .batch(csn: CSN(3), rows: 0, state: .consistent),
        .changedTable(""), .begins(""),
      ] {
        first.note(event)
      }
      second.note(.batch(csn: CSN(2), rows: 5, state: .consistent))
      func total(_ name: String, _ feed: String) throws -> Int64 {
        try backend.expectCounter("quire.sink.\(name)", [("feed", feed)]).totalValue
      }
      #expect(try total("rows", "a") == 7 && total("batches", "a") == 2)
      #expect(try total("rejected", "a") == 1 && total("retries", "a") == 2)
      #expect(try total("rows", "b") == 5 && total("batches", "b") == 1)
    }
  }
#endif
