from datetime import datetime
from decimal import Decimal

from payments import payments


def at(hour, minute=0):
    return datetime(2026, 1, 1, hour, minute)


def test_each_order_and_each_payment_has_one_place(job_test):
    test, price = job_test(payments, "orders", "payments", "/out"), Decimal("9.50")
    test.push("orders", [(1, "ann", price, at(9)), (2, "bob", price, at(9)), (3, "cat", price, at(9, 5))])
    test.push("payments", [(1, price, at(9, 10)), (7, price, at(9, 10))])
    test.epoch()
    assert [(row["id"], row["customer"]) for row in test.rows("paid-orders")] == [(1, "ann")]
    assert test.rows("unknown-payments") == []  # its order may still come
    test.push("payments", [(3, price, at(10, 4)), (2, price, at(10, 1))])
    test.crash()
    test.advance_time("3 hours")
    assert sorted(row["id"] for row in test.rows("paid-orders")) == [1, 3]
    assert sorted((row["id"], row["paid"]) for row in test.rows("unknown-payments")) == [(2, at(10, 1)), (7, at(9, 10))]
    assert list(test.entries("unpaid")) == ["2"]
